"""Arrays with room: a new length compiles nothing.

JAX compiles a program for each shape, so a program that selects, slices or groups waits at each statement for
each new length. Here an array on a device may be a **buffer**, whose lengths are few, and the number of its
rows that count (`_rows.Rows`). What the other rows hold is arbitrary:

- functions of each element run on buffers as they are (`_elementwise`);
- functions whose program depends on shapes alone (`_calls`), and fused functions (`_fused`), are traced for
  numbers of rows that are not known (`_dimensions`), and evaluated on buffers (`_programs`, by
  `_interpreter`): where they mix rows, those that do not count are filled first with what changes nothing;
- what selects rows writes them into a buffer (`_selecting`), and a slice is one (`_slices`);
- writes change the buffer (`_writing`).

What is not here takes the exact array, a shorter view of the buffer's memory (`_core._lengths.cut`), which is
also what a user, a pytree, DLPack and JAX's transformations get. All checks are of shapes, never of buffers.
"""
