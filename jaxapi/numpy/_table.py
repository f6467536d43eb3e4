"""Where each name of `jaxapi.numpy` comes from.

On the CPU, outside of JAX's transformations, NumPy computes (`in_numpys_way` in `mutable/_by_numpy.py`). This
is what a name is elsewhere; ufuncs are those of `jaxapi.mutable._elementwise`.
"""

# ruff: noqa: SIM905

# NumPy's own objects: dtypes, constants, and functions of dtypes and text.
NUMPYS_OBJECTS = """
False_ ScalarType True_ __version__ base_repr binary_repr bool bool_ broadcast_shapes byte bytes_
cdouble character clongdouble complex128 complex64 complexfloating csingle datetime64 double dtype
dtypes e errstate euler_gamma exceptions finfo flexible float16 float32 float64 floating
format_float_positional format_float_scientific generic get_printoptions getbufsize geterr geterrcall
half iinfo index_exp inexact inf int16 int32 int64 int8 int_ intc integer intp isdtype issubdtype
little_endian long longdouble longlong ma mintypecode nan ndindex newaxis number object_ pi poly1d
polynomial printoptions promote_types s_ sctypeDict set_printoptions setbufsize seterr seterrcall short
show_config show_runtime signedinteger single str_ timedelta64 typecodes typename typing ubyte uint
uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong unsignedinteger ushort void
""".split()

# NumPy's functions, which get copies in the host's memory, and give no arrays.
ON_HOST = """
array2string array_repr array_str can_cast common_type einsum_path min_scalar_type result_type save
savetxt savez savez_compressed
""".split()

# NumPy's own Python code, which runs on our arrays as on its own.
NUMPYS_CODE = """
array_split dsplit fill_diagonal flip hsplit iscomplexobj isrealobj moveaxis ndim put_along_axis
rollaxis shape size split vsplit
""".split()

# The standard's functions of `jaxapi`, with NumPy's signature.
OF_JAXAPI = """
broadcast_to count_nonzero linspace logspace prod sum
unique_all unique_counts unique_inverse unique_values
""".split()

# The functions of `jax.numpy`, with NumPy's signature.
OF_JAX = """
argwhere broadcast_arrays cross diag diag_indices_from
diagflat diagonal flatnonzero identity intersect1d iscomplex isreal
lexsort nanmax nanmin nanprod nansum outer packbits resize
tril_indices tril_indices_from triu_indices triu_indices_from unpackbits
""".split()

# Ours, by the reason.
OURS = {
    "arguments that jax.numpy lacks, and NumPy's errors": """
append argpartition argsort choose column_stack compress concat concatenate delete diag_indices dstack
extract eye hstack indices insert ix_ meshgrid nonzero pad partition ravel_multi_index repeat searchsorted
roll select stack take take_along_axis tile trace tril triu unravel_index vstack
""".split(),
    "NumPy's dtypes, of integers above all": """
angle around average bartlett blackman corrcoef cov cumprod cumsum cumulative_prod cumulative_sum diff dot
ediff1d gradient hamming hanning i0
inner interp kaiser kron mean nancumprod nancumsum nanmean nanstd nanvar round sort_complex std trapezoid tri
unwrap vander var
""".split(),
    "complex numbers and NaN": """
all amax amin any argmax argmin isneginf isposinf max min nanargmax nanargmin ptp setdiff1d setxor1d sinc sort
trim_zeros union1d unique
""".split(),
    "where NumPy puts edges, and how it rounds": """
bincount convolve correlate digitize geomspace histogram histogram2d histogram_bin_edges histogramdd median
nanmedian nanpercentile nanquantile percentile poly polyadd polyder polyint polymul polysub polyval quantile
""".split(),
    "integers of several dtypes": """
allclose array_equal isclose isin
""".split(),
    "views, as NumPy's": """
atleast_1d atleast_2d atleast_3d expand_dims fliplr flipud imag matrix_transpose permute_dims ravel real
reshape rot90 squeeze swapaxes transpose unstack
""".split(),
    "arrays are made, which can be assigned to": """
arange array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray astype copy empty
empty_like from_dlpack frombuffer fromfile fromiter fromstring full full_like genfromtxt load loadtxt
ones ones_like require zeros zeros_like
""".split(),
    "arguments are written to": """
copyto place put putmask
""".split(),
    "a function is called, traced or not": """
apply_along_axis apply_over_axes fromfunction mask_indices piecewise vectorize
""".split(),
    "results of few numbers, whose shape follows from values, by NumPy unless traced": """
polydiv polyfit roots
""".split(),
    "lists are nested, and numbers are among arrays": """
block
""".split(),
    "``out=``, ``axes=`` and full float32": """
clip einsum fix matmul matvec nan_to_num tensordot vdot vecdot vecmat where
""".split(),
    "NumPy 2.6's, on every NumPy, computed by JAX on the CPU, too": """
top_k
""".split(),
    "what is asked of an array": """
array_equiv isfortran isscalar iterable may_share_memory ndenumerate real_if_close shares_memory
""".split(),
    "classes and modules": """
broadcast c_ deferred fft fuse grad lib linalg mgrid ndarray ogrid r_ random testing ufunc value_and_grad
""".split(),
    "CuPy's": """
asnumpy cuda get_array_module
""".split(),
}

# What is said of some of these functions.

# They make arrays of numbers alone, which lie where JAX puts new ones.
MAKES_ARRAYS = """
arange bartlett blackman diag_indices eye fromfunction full geomspace hamming hanning identity indices
kaiser linspace logspace mask_indices tri tril_indices triu_indices
""".split()

# They look for themselves who computes, or read what lies on the host anyway.
DECIDES_ITSELF = """
array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray asnumpy broadcast copy empty
from_dlpack frombuffer fromfile fromiter fromstring genfromtxt get_array_module load loadtxt ones
require top_k vectorize zeros
""".split()

# They return positions, of the default integer dtype.
RETURNS_POSITIONS = """
argmax argmin argpartition argsort argwhere count_nonzero diag_indices digitize flatnonzero lexsort
nanargmax nanargmin nonzero ravel_multi_index searchsorted tril_indices tril_indices_from triu_indices
triu_indices_from unravel_index
""".split()

# What they return without axes is an array; what others do is a scalar.
RETURNS_ARRAYS = """
broadcast_arrays broadcast_to cov diff i0 isin pad polyint resize roll select tensordot tensorsolve tile
trim_zeros unique unique_all unique_inverse
""".split()

# They take several arrays in one dtype, if there are integers and others among them.
PROMOTES_TOGETHER = """
append array_equal array_equiv choose convolve correlate cross dot inner intersect1d
isin kron matmul multi_dot outer polyadd polydiv polymul polysub searchsorted select setxor1d
tensordot vdot vecdot
""".split()

# They fold an array along an axis, and take axis 0 or -1 of one without axes, too.
FOLDS = """
all amax amin any argmax argmin argsort count_nonzero cumprod cumsum max min nanargmax nanargmin
nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar prod ptp sum
""".split()

# They add or multiply, and cast to any dtype of ``out=``.
ADDS = """
cumprod cumsum cumulative_prod cumulative_sum nancumprod nancumsum nanprod nansum prod sum trace
""".split()

# Their results are cast to any dtype of ``out=``, as those of sums.
CAST_TO_OUT = (
    ADDS
    + """
amax amin choose max mean median min nanmax nanmedian nanmin nanpercentile nanquantile take var
""".split()
)

# They compute in a dtype that ``out=`` takes part in.
COMPUTES_WITH_OUT = [*sorted(set(ADDS) - {"trace"}), "ptp"]

# They join arrays, each of which is cast to the dtype of ``out=``.
JOINS_INTO_OUT = ["concat", "concatenate", "stack"]

# Their results are broadcast to ``out=``, as those of ufuncs are; others must have its shape.
BROADCASTS_TO_OUT = """
isneginf isposinf nanmedian nanpercentile nanquantile outer percentile quantile
""".split()
