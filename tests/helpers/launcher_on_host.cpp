// The launcher for XLA's CPU, where there is no stream, beside a driver that stands for CUDA's.
//
// With DRIVER it is that driver: its kernels are functions below, found by name in a text that stands for PTX.

#ifdef DRIVER

#include <cstring>
#include <string>

using Kernel = void (*)(const unsigned* grid, unsigned threads, void** parameters);
struct Library {
  std::string text;
};

// out[i] = first[i] - second[i], for as many as the grid has threads
static void Subtract(const unsigned* grid, unsigned threads, void** parameters) {
  const float* first = *static_cast<float**>(parameters[0]);
  const float* second = *static_cast<float**>(parameters[1]);
  float* out = *static_cast<float**>(parameters[2]);
  for (unsigned i = 0; i < grid[0] * threads; ++i) out[i] = first[i] - second[i];
}

// x += 1 in place, and what the launch was like. An array that is changed is an operand, then a result.
static void Increase(const unsigned* grid, unsigned threads, void** parameters) {
  float* x = *static_cast<float**>(parameters[1]);
  x[0] += 1;
  int* launch = *static_cast<int**>(parameters[2]);
  for (int i = 0; i < 3; ++i) launch[i] = grid[i];
  launch[3] = threads;
}

static int loads = 0;

extern "C" {

int load_count() { return loads; }

int cuLibraryLoadData(Library** library, const void* code, int*, void**, unsigned, int*, void**, unsigned) {
  const char* text = static_cast<const char*>(code);
  if (std::strstr(text, "not PTX") != nullptr) return 218;
  ++loads;
  *library = new Library{text};
  return 0;
}

int cuLibraryGetKernel(Kernel* kernel, Library* library, const char* name) {
  if (library->text.find(name) == std::string::npos) return 500;
  *kernel = std::strcmp(name, "subtract") == 0 ? Subtract : Increase;
  return 0;
}

int cuKernelGetFunction(Kernel* function, Kernel kernel) {
  *function = kernel;
  return 0;
}

int cuLaunchKernel(Kernel function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned,
                   void*, void** parameters, void**) {
  if (threads > 1024) return 1;
  const unsigned grid[] = {x, y, z};
  function(grid, threads, parameters);
  return 0;
}

int cuGetErrorString(int code, const char** text) {
  *text = code == 218 ? "the text is no PTX" : code == 500 ? "nothing has this name" : "not so many threads";
  return 0;
}
}

#else

#include LAUNCHER

static ffi::Error LaunchHere(ffi::RemainingArgs operands, ffi::RemainingRets results, std::string_view key,
                             std::string_view name, std::string_view ptx, int32_t grid_x, int32_t grid_y,
                             int32_t grid_z, int32_t threads) {
  return Launch(nullptr, operands, results, key, name, ptx, grid_x, grid_y, grid_z, threads);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(OnHost, LaunchHere, WithAttributes(ffi::Ffi::Bind().RemainingArgs().RemainingRets()));

#endif
