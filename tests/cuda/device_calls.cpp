// The stand-in's functions of devices and contexts.
#include <cstdio>
#include <map>

#include "tests/cuda/machine.hpp"

namespace framewire::test::cuda_stand_in {

namespace {

Result init(unsigned flags) {
  return guarded("cuInit", false, [&](Machine& machine) {
    return flags != 0 ? invalid_value : machine.device_count == 0 ? Result::no_device : ok;
  });
}

Result driver_version(int* version) {
  return guarded("cuDriverGetVersion", false, [&](Machine& machine) {
    *version = machine.driver_version;
    return ok;
  });
}

Result error_name(Result error, const char** text) {
  static const std::map<int, const char*> names{{0, "CUDA_SUCCESS"},
                                                {1, "CUDA_ERROR_INVALID_VALUE"},
                                                {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                {100, "CUDA_ERROR_NO_DEVICE"},
                                                {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                                {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                                                {304, "CUDA_ERROR_OPERATING_SYSTEM"},
                                                {400, "CUDA_ERROR_INVALID_HANDLE"},
                                                {801, "CUDA_ERROR_NOT_SUPPORTED"},
                                                {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = names.find(static_cast<int>(error));
  *text = found != names.end() ? found->second : nullptr;
  return found != names.end() ? ok : invalid_value;
}

Result error_text(Result error, const char** text) {
  static const std::map<int, const char*> texts{
      {2, "out of memory"}, {100, "no CUDA-capable device is detected"}, {214, "uncorrectable ECC error encountered"}};
  const auto found = texts.find(static_cast<int>(error));
  *text = found != texts.end() ? found->second : nullptr;
  return found != texts.end() ? ok : invalid_value;
}

Result device_count(int* count) {
  return guarded("cuDeviceGetCount", false, [&](Machine& machine) {
    *count = machine.device_count;
    return ok;
  });
}

Result device_get(DeviceNumber* device, int ordinal) {
  return guarded("cuDeviceGet", false, [&](Machine& machine) {
    *device = ordinal;
    return is_device(machine, ordinal) ? ok : invalid_device;
  });
}

Result device_name(char* name, int bytes, DeviceNumber device) {
  return guarded("cuDeviceGetName", false, [&](Machine& machine) {
    std::snprintf(name, static_cast<std::size_t>(bytes), "Stand-in %d", device);
    return is_device(machine, device) ? ok : invalid_device;
  });
}

/// The first version: that of the GPU, also for a slice of it.
Result device_uuid(cuda::Uuid* uuid, DeviceNumber device) {
  return guarded("cuDeviceGetUuid", false, [&](Machine& machine) {
    *uuid = uuid_of(machine, machine.has_slices ? 0 : device);
    return is_device(machine, device) ? ok : invalid_device;
  });
}

Result device_or_slice_uuid(cuda::Uuid* uuid, DeviceNumber device) {
  return guarded("cuDeviceGetUuid", false, [&](Machine& machine) {
    *uuid = uuid_of(machine, device);
    return is_device(machine, device) ? ok : invalid_device;
  });
}

Result device_pci_address(char* text, int bytes, DeviceNumber device) {
  return guarded("cuDeviceGetPCIBusId", false, [&](Machine& machine) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", 0x3B + device);
    return is_device(machine, device) ? ok : invalid_device;
  });
}

Result device_attribute(int* value, Attribute attribute, DeviceNumber device) {
  return guarded("cuDeviceGetAttribute", false, [&](Machine& machine) {
    const auto found = machine.attributes.find(static_cast<int>(attribute));
    if (!is_device(machine, device) || found == machine.attributes.end()) {
      return invalid_value;
    }
    *value = found->second;
    return ok;
  });
}

Result device_memory(std::size_t* bytes, DeviceNumber device) {
  return guarded("cuDeviceTotalMem", false, [&](Machine& machine) {
    *bytes = default_free_bytes;
    return is_device(machine, device) ? ok : invalid_device;
  });
}

/// The driver knows it of two devices only, and of one and itself not.
Result can_access_peer(int* can, DeviceNumber reader, DeviceNumber owner) {
  return guarded("cuDeviceCanAccessPeer", false, [&](Machine& machine) {
    *can = machine.has_peer_access && reader != owner ? 1 : 0;
    return is_device(machine, reader) && is_device(machine, owner) ? ok : invalid_device;
  });
}

Result retain_context(Context* context, DeviceNumber device) {
  return guarded("cuDevicePrimaryCtxRetain", false, [&](Machine& machine) {
    if (!is_device(machine, device)) {
      return invalid_device;
    }
    ++machine.retained[device];
    *context = context_of(device);
    return ok;
  });
}

Result release_context(DeviceNumber device) {
  return guarded("cuDevicePrimaryCtxRelease", false, [&](Machine& machine) {
    if (!is_device(machine, device) || machine.retained[device] == 0) {
      return invalid_context;
    }
    --machine.retained[device];
    return ok;
  });
}

Result push_context(Context context) {
  return guarded("cuCtxPushCurrent", false, [&](Machine& machine) {
    const DeviceNumber device = device_of(context);
    if (context != context_of(device) || machine.retained[device] == 0) {
      return invalid_context;
    }
    ContextStack& stack = contexts();
    if (stack.size == stack.pushed.size()) {
      return Result::out_of_memory;
    }
    stack.pushed.at(stack.size++) = context;
    ++machine.pushed;
    return ok;
  });
}

/// Pops also where it is made to fail: cuda.h says of it that it may give the error of what was started before.
Result pop_context(Context* context) {
  ContextStack& stack = contexts();
  if (stack.size == 0) {
    return invalid_context;
  }
  *context = stack.pushed.at(--stack.size);
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  --machine.pushed;
  return machine.forced("cuCtxPopCurrent").value_or(ok);
}

}  // namespace

void add_device_functions(FunctionTable& functions) {
  functions["cuInit"] = address_of(init);
  functions["cuDriverGetVersion"] = address_of(driver_version);
  functions["cuGetErrorName"] = address_of(error_name);
  functions["cuGetErrorString"] = address_of(error_text);
  functions["cuDeviceGetCount"] = address_of(device_count);
  functions["cuDeviceGet"] = address_of(device_get);
  functions["cuDeviceGetName"] = address_of(device_name);
  functions["cuDeviceGetUuid"] = address_of(device_uuid);
  functions["cuDeviceGetUuid_v2"] = address_of(device_or_slice_uuid);
  functions["cuDeviceGetPCIBusId"] = address_of(device_pci_address);
  functions["cuDeviceGetAttribute"] = address_of(device_attribute);
  functions["cuDeviceTotalMem"] = address_of(device_memory);
  functions["cuDeviceCanAccessPeer"] = address_of(can_access_peer);
  functions["cuDevicePrimaryCtxRetain"] = address_of(retain_context);
  functions["cuDevicePrimaryCtxRelease"] = address_of(release_context);
  functions["cuCtxPushCurrent"] = address_of(push_context);
  functions["cuCtxPopCurrent"] = address_of(pop_context);
}

}  // namespace framewire::test::cuda_stand_in
