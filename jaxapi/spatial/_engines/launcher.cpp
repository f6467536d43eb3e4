// Starts CUDA kernels inside of XLA's programs: a handler of its foreign function interface (`jax.ffi`).
//
// It knows nothing of Python, and CUDA's driver is looked up when the first kernel is loaded: so one library
// serves every Python, and neither CUDA's headers nor its libraries are needed to build it.

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

// What is used of CUDA's driver, as cuda.h declares it.
using CUstream = struct CUstream_st*;
using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;
using CUfunction = struct CUfunc_st*;
using CUresult = int;
constexpr CUresult kSuccess = 0;

struct Driver {
  CUresult (*load)(CUlibrary*, const void* code, int* options, void** values, unsigned option_count,
                   int* library_options, void** library_values, unsigned library_option_count);
  CUresult (*find)(CUkernel*, CUlibrary, const char* name);
  CUresult (*in_this_context)(CUfunction*, CUkernel);
  CUresult (*launch)(CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                     unsigned block_z, unsigned shared_bytes, CUstream, void** parameters, void** extra);
  CUresult (*describe)(CUresult, const char** text);
  std::string missing;  // what of it is not here; empty: nothing
};

template <typename Function>
void LookUp(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) missing += std::string(" ") + name;
}

const Driver& TheDriver() {
  static const Driver driver = [] {
    Driver found{};
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
      found.missing = dlerror();
      return found;
    }
    LookUp(library, "cuLibraryLoadData", found.load, found.missing);
    LookUp(library, "cuLibraryGetKernel", found.find, found.missing);
    LookUp(library, "cuKernelGetFunction", found.in_this_context, found.missing);
    LookUp(library, "cuLaunchKernel", found.launch, found.missing);
    LookUp(library, "cuGetErrorString", found.describe, found.missing);
    return found;
  }();
  return driver;
}

ffi::Error Failed(std::string_view kernel, const char* step, CUresult code) {
  const char* text = nullptr;
  TheDriver().describe(code, &text);
  return ffi::Error::Internal("CUDA kernel " + std::string(kernel) + ", " + step + ": error " + std::to_string(code) +
                              ", " + (text == nullptr ? "which the driver does not know" : text));
}

// All kernels that were loaded, by their keys. They stay until the process ends: a program that runs may need
// them. A kernel of a library is one for all GPUs; the driver loads it on each when it is first asked for there.
class Kernels {
 public:
  // Give the kernel of a key for the GPU of this thread; only a key that is new is loaded.
  ffi::Error Get(std::string_view key, std::string_view name, std::string_view ptx, CUfunction* function) {
    const Driver& driver = TheDriver();
    if (!driver.missing.empty()) return ffi::Error::Internal("CUDA's driver cannot be used: " + driver.missing);
    CUkernel kernel = nullptr;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto [place, is_new] = kernels_.try_emplace(std::string(key), nullptr);
      if (is_new) {
        ffi::Error error = Load(driver, name, ptx, &place->second);
        if (error.failure()) {
          kernels_.erase(place);
          return error;
        }
      }
      kernel = place->second;
    }
    const CUresult code = driver.in_this_context(function, kernel);
    return code == kSuccess ? ffi::Error::Success() : Failed(name, "on this GPU", code);
  }

 private:
  static ffi::Error Load(const Driver& driver, std::string_view name, std::string_view ptx, CUkernel* kernel) {
    const std::string text(ptx);  // which ends with a zero, as the driver expects
    const std::string kernel_name(name);
    CUlibrary library = nullptr;
    CUresult code = driver.load(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (code != kSuccess) return Failed(name, "its PTX", code);
    code = driver.find(kernel, library, kernel_name.c_str());
    return code == kSuccess ? ffi::Error::Success() : Failed(name, "its name", code);
  }

  std::mutex mutex_;
  std::unordered_map<std::string, CUkernel> kernels_;
};

Kernels& TheKernels() {
  static Kernels& kernels = *new Kernels;  // never destroyed: other threads may run when the process ends
  return kernels;
}

// Before a program runs: nothing is loaded while its kernels are recorded into a CUDA graph.
ffi::Error Initialize(ffi::RemainingArgs, ffi::RemainingRets, std::string_view key, std::string_view name,
                      std::string_view ptx, int32_t, int32_t, int32_t, int32_t) {
  CUfunction function = nullptr;
  return TheKernels().Get(key, name, ptx, &function);
}

// Launch a kernel on XLA's stream. Its parameters are the addresses of all operands, then of all results.
ffi::Error Launch(CUstream stream, ffi::RemainingArgs operands, ffi::RemainingRets results, std::string_view key,
                  std::string_view name, std::string_view ptx, int32_t grid_x, int32_t grid_y, int32_t grid_z,
                  int32_t threads) {
  CUfunction function = nullptr;
  ffi::Error error = TheKernels().Get(key, name, ptx, &function);
  if (error.failure()) return error;

  std::vector<void*> addresses;
  addresses.reserve(operands.size() + results.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    auto operand = operands.get<ffi::AnyBuffer>(i);
    if (operand.has_error()) return operand.error();
    addresses.push_back(operand->untyped_data());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    auto result = results.get<ffi::AnyBuffer>(i);
    if (result.has_error()) return result.error();
    addresses.push_back((*result)->untyped_data());
  }
  std::vector<void*> parameters;
  parameters.reserve(addresses.size());
  for (void*& address : addresses) parameters.push_back(&address);

  const CUresult code = TheDriver().launch(function, grid_x, grid_y, grid_z, threads, 1, 1, 0, stream,
                                           parameters.data(), nullptr);
  return code == kSuccess ? ffi::Error::Success() : Failed(name, "its launch", code);
}

// The attributes of a call, the same for every stage.
template <typename Binding>
auto WithAttributes(Binding binding) {
  return std::move(binding)
      .template Attr<std::string_view>("key")
      .template Attr<std::string_view>("name")
      .template Attr<std::string_view>("ptx")
      .template Attr<int32_t>("grid_x")
      .template Attr<int32_t>("grid_y")
      .template Attr<int32_t>("grid_z")
      .template Attr<int32_t>("threads");
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(JaxapiInitialize, Initialize,
                              WithAttributes(ffi::Ffi::BindInitialize().RemainingArgs().RemainingRets()));

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    JaxapiLaunch, Launch,
    WithAttributes(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<CUstream>>().RemainingArgs().RemainingRets()),
    {ffi::Traits::kCmdBufferCompatible});
