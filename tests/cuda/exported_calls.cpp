// What libav looks up in libcuda.so.1 by dlsym(), where it decodes on a GPU: each function must be there, though few
// are called.
#include "tests/cuda/machine.hpp"

namespace {

using namespace framewire::test::cuda_stand_in;

template <typename... Arguments>
Result call(const char* name, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(functions().at(name))(arguments...);
}

/// Waits, as the driver does for host memory that is not registered.
Result copy_rows_now(const framewire::cuda::Copy2D* copy, Stream stream) {
  const Result put = guarded("cuMemcpy2DAsync", true, [&](Machine& machine) {
    std::byte* const to = rows_of(machine, copy->to, *copy, true);
    const std::byte* const from = rows_of(machine, copy->from, *copy, false);
    if (to == nullptr || from == nullptr || !machine.is_stream_here(stream)) {
      return invalid_value;
    }
    put_rows(machine, *copy, to, from, stream);
    return ok;
  });
  return put == ok ? await_stream(stream) : put;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names
extern "C" {

Result cuInit(unsigned flags) {
  return call("cuInit", flags);
}
Result cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", count);
}
Result cuDeviceGet(DeviceNumber* device, int ordinal) {
  return call("cuDeviceGet", device, ordinal);
}
Result cuDeviceGetAttribute(int* value, Attribute attribute, DeviceNumber device) {
  return call("cuDeviceGetAttribute", value, attribute, device);
}
Result cuDeviceGetName(char* name, int bytes, DeviceNumber device) {
  return call("cuDeviceGetName", name, bytes, device);
}
Result cuDeviceGetUuid(framewire::cuda::Uuid* uuid, DeviceNumber device) {
  return call("cuDeviceGetUuid", uuid, device);
}
Result cuGetErrorName(Result error, const char** text) {
  return call("cuGetErrorName", error, text);
}
Result cuGetErrorString(Result error, const char** text) {
  return call("cuGetErrorString", error, text);
}
Result cuDevicePrimaryCtxRetain(Context* context, DeviceNumber device) {
  return call("cuDevicePrimaryCtxRetain", context, device);
}
Result cuDevicePrimaryCtxRelease(DeviceNumber device) {
  return call("cuDevicePrimaryCtxRelease", device);
}
Result cuCtxPushCurrent_v2(Context context) {
  return call("cuCtxPushCurrent", context);
}
Result cuCtxPopCurrent_v2(Context* context) {
  return call("cuCtxPopCurrent", context);
}
Result cuMemsetD8Async(Address address, unsigned char value, std::size_t bytes, Stream stream) {
  return call("cuMemsetD8Async", address, value, bytes, stream);
}
Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream stream) {
  return call("cuMemcpyDtoHAsync", to, from, bytes, stream);
}
Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream stream) {
  return call("cuMemcpyHtoDAsync", to, from, bytes, stream);
}
Result cuStreamCreate(Stream* stream, unsigned flags) {
  return call("cuStreamCreate", stream, flags);
}
Result cuStreamQuery(Stream stream) {
  return call("cuStreamQuery", stream);
}
Result cuStreamDestroy_v2(Stream stream) {
  return call("cuStreamDestroy", stream);
}
Result cuEventCreate(Event* event, unsigned flags) {
  return call("cuEventCreate", event, flags);
}
Result cuEventRecord(Event event, Stream stream) {
  return call("cuEventRecord", event, stream);
}
Result cuEventQuery(Event event) {
  return call("cuEventQuery", event);
}
Result cuEventDestroy_v2(Event event) {
  return call("cuEventDestroy", event);
}
Result cuCtxGetDevice(DeviceNumber* device) {
  *device = contexts().size == 0 ? 0 : current_device();
  return contexts().size == 0 ? invalid_context : ok;
}
Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
  return guarded("cuMemAlloc", true, [&](Machine& machine) {
    *address = machine.allocate(bytes);
    return *address != 0 ? ok : Result::out_of_memory;
  });
}
Result cuMemFree_v2(Address address) {
  return guarded("cuMemFree", true, [&](Machine& machine) { return machine.free(address) ? ok : invalid_value; });
}
Result cuMemcpy2DAsync_v2(const framewire::cuda::Copy2D* copy, Stream stream) {
  return copy_rows_now(copy, stream);
}
Result cuStreamSynchronize(Stream stream) {
  const Result asked = guarded("cuStreamSynchronize", true, [](Machine& /*machine*/) { return ok; });
  return asked == ok ? await_stream(stream) : asked;
}

// ---- Never called ----

Result cuDeviceComputeCapability() {
  return not_supported;
}
Result cuCtxCreate_v2() {
  return not_supported;
}
Result cuCtxSetLimit() {
  return not_supported;
}
Result cuCtxDestroy_v2() {
  return not_supported;
}
Result cuMemAllocPitch_v2() {
  return not_supported;
}
Result cuMemAllocManaged() {
  return not_supported;
}
Result cuMemcpy() {
  return not_supported;
}
Result cuMemcpyAsync() {
  return not_supported;
}
Result cuMemcpyHtoD_v2() {
  return not_supported;
}
Result cuMemcpyDtoH_v2() {
  return not_supported;
}
Result cuMemcpyDtoD_v2() {
  return not_supported;
}
Result cuMemcpyDtoDAsync_v2() {
  return not_supported;
}
Result cuDevicePrimaryCtxSetFlags() {
  return not_supported;
}
Result cuDevicePrimaryCtxGetState() {
  return not_supported;
}
Result cuDevicePrimaryCtxReset() {
  return not_supported;
}
Result cuStreamAddCallback() {
  return not_supported;
}
Result cuEventSynchronize() {
  return not_supported;
}
Result cuLaunchKernel() {
  return not_supported;
}
Result cuLinkCreate() {
  return not_supported;
}
Result cuLinkAddData() {
  return not_supported;
}
Result cuLinkComplete() {
  return not_supported;
}
Result cuLinkDestroy() {
  return not_supported;
}
Result cuModuleLoadData() {
  return not_supported;
}
Result cuModuleUnload() {
  return not_supported;
}
Result cuModuleGetFunction() {
  return not_supported;
}
Result cuModuleGetGlobal() {
  return not_supported;
}
Result cuTexObjectCreate() {
  return not_supported;
}
Result cuTexObjectDestroy() {
  return not_supported;
}
Result cuGLGetDevices_v2() {
  return not_supported;
}
Result cuGraphicsGLRegisterImage() {
  return not_supported;
}
Result cuGraphicsUnregisterResource() {
  return not_supported;
}
Result cuGraphicsMapResources() {
  return not_supported;
}
Result cuGraphicsUnmapResources() {
  return not_supported;
}
Result cuGraphicsSubResourceGetMappedArray() {
  return not_supported;
}
Result cuGraphicsResourceGetMappedPointer_v2() {
  return not_supported;
}
Result cuArray3DCreate_v2() {
  return not_supported;
}
Result cuArrayDestroy() {
  return not_supported;
}
Result cuMemcpy2D_v2() {
  return not_supported;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
