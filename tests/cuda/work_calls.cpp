// The stand-in's functions of streams, events, and copies.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/cuda/machine.hpp"

namespace framewire::test::cuda_stand_in {

namespace {

Result set_bytes(Address address, unsigned char value, std::size_t bytes, Stream stream) {
  return guarded("cuMemsetD8Async", true, [&](Machine& machine) {
    std::size_t offset = 0;
    const Mapping* const mapping = machine.find_here(address, bytes, &offset);
    if (mapping == nullptr || !mapping->is_writable || !machine.is_stream_here(stream)) {
      return invalid_value;
    }
    machine.put(stream, [to = mapping->alias + offset, value, bytes] { std::memset(to, value, bytes); });
    return ok;
  });
}

bool is_registered(const Machine& machine, const void* address, std::size_t bytes) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  return std::ranges::any_of(machine.registered, [&](const auto& range) {
    return wanted >= range.first && wanted + bytes <= range.first + range.second;
  });
}

void put_bytes(Machine& machine, Stream stream, void* to, const void* from, std::size_t bytes) {
  std::fill_n(static_cast<std::byte*>(to), bytes, poison);
  machine.put(stream, [to, from, bytes] { std::memcpy(to, from, bytes); });
}

/// `host`: the end that is in host memory. It has to be registered: the driver would block, and nobody here wants that.
Result put_copy(Machine& machine, Stream stream, void* to, const void* from, std::size_t bytes, const void* host) {
  if (!is_registered(machine, host, bytes)) {
    return not_registered;
  }
  put_bytes(machine, stream, to, from, bytes);
  return ok;
}

Result copy_to_host(void* to, Address from, std::size_t bytes, Stream stream) {
  return guarded("cuMemcpyDtoHAsync", true, [&](Machine& machine) {
    std::size_t offset = 0;
    const Mapping* const mapping = machine.find_here(from, bytes, &offset);
    if (mapping == nullptr || !mapping->is_readable || !machine.is_stream_here(stream)) {
      return invalid_value;
    }
    return put_copy(machine, stream, to, mapping->alias + offset, bytes, to);
  });
}

Result copy_from_host(Address to, const void* from, std::size_t bytes, Stream stream) {
  return guarded("cuMemcpyHtoDAsync", true, [&](Machine& machine) {
    std::size_t offset = 0;
    const Mapping* const mapping = machine.find_here(to, bytes, &offset);
    if (mapping == nullptr || !mapping->is_writable || !machine.is_stream_here(stream)) {
      return invalid_value;
    }
    return put_copy(machine, stream, mapping->alias + offset, from, bytes, from);
  });
}

/// Both ends are mapped for the device of the stream, wherever the memory is.
Result copy_on_device(Address to, Address from, std::size_t bytes, Stream stream) {
  return guarded("cuMemcpyDtoDAsync", true, [&](Machine& machine) {
    std::size_t to_offset = 0;
    std::size_t from_offset = 0;
    const Mapping* const into = machine.find_here(to, bytes, &to_offset);
    const Mapping* const of = machine.find_here(from, bytes, &from_offset);
    if (into == nullptr || of == nullptr || !into->is_writable || !of->is_readable || !machine.is_stream_here(stream)) {
      return invalid_value;
    }
    put_bytes(machine, stream, into->alias + to_offset, of->alias + from_offset, bytes);
    return ok;
  });
}

/// Of memory that is not registered the driver would block, as for other copies.
Result copy_rows(const cuda::Copy2D* copy, Stream stream) {
  return guarded("cuMemcpy2DAsync", true, [&](Machine& machine) {
    std::byte* const to = rows_of(machine, copy->to, *copy, true);
    const std::byte* const from = rows_of(machine, copy->from, *copy, false);
    if (to == nullptr || from == nullptr || !machine.is_stream_here(stream)) {
      return invalid_value;
    }
    for (const cuda::Copy2DEnd* end : {&copy->to, &copy->from}) {
      if (end->type == cuda::MemoryType::host &&
          !is_registered(machine, end->host, (copy->rows - 1) * end->pitch_bytes + copy->row_bytes)) {
        return not_registered;
      }
    }
    put_rows(machine, *copy, to, from, stream);
    return ok;
  });
}

Result flush_remote_writes(int target, int scope) {
  return guarded("cuFlushGPUDirectRDMAWrites", true, [&](Machine& machine) {
    if (target != 0 || (scope != 100 && scope != 200)) {
      return invalid_value;
    }
    if ((static_cast<unsigned>(machine.attributes[117]) & 1U) == 0) {
      return not_supported;
    }
    ++machine.flushes;
    return ok;
  });
}

Result make_stream(Stream* stream, unsigned /*flags*/) {
  return guarded("cuStreamCreate", true, [&](Machine& machine) {
    *stream = reinterpret_cast<Stream>(machine.next_number_here());
    machine.streams[*stream];
    return ok;
  });
}

Result query_stream(Stream stream) {
  return guarded("cuStreamQuery", true, [&](Machine& machine) {
    const auto found = machine.streams.find(stream);
    return found == machine.streams.end() ? invalid_handle : found->second.empty() ? ok : Result::not_ready;
  });
}

Result end_stream(Stream stream) {
  return guarded("cuStreamDestroy", true,
                 [&](Machine& machine) { return machine.streams.erase(stream) == 1 ? ok : invalid_handle; });
}

Result make_event(Event* event, unsigned /*flags*/) {
  return guarded("cuEventCreate", true, [&](Machine& machine) {
    *event = reinterpret_cast<Event>(machine.next_number_here());
    machine.events[*event] = {};
    return ok;
  });
}

Result record_event(Event event, Stream stream) {
  return guarded("cuEventRecord", true, [&](Machine& machine) {
    const auto found = machine.events.find(event);
    if (found == machine.events.end() || device_of(event) != current_device() || !machine.is_stream_here(stream)) {
      return invalid_handle;
    }
    const std::uint64_t number = ++found->second.recorded;
    machine.put(stream, [&machine, event, number] {
      if (const auto recorded = machine.events.find(event); recorded != machine.events.end()) {
        recorded->second.done = number;
      }
    });
    return ok;
  });
}

Result query_event(Event event) {
  return guarded("cuEventQuery", false, [&](Machine& machine) {
    const auto found = machine.events.find(event);
    if (found == machine.events.end()) {
      return invalid_handle;
    }
    return found->second.done == found->second.recorded ? ok : Result::not_ready;
  });
}

Result end_event(Event event) {
  return guarded("cuEventDestroy", true,
                 [&](Machine& machine) { return machine.events.erase(event) == 1 ? ok : invalid_handle; });
}

}  // namespace

std::byte* rows_of(Machine& machine, const cuda::Copy2DEnd& end, const cuda::Copy2D& copy, bool is_written) {
  if (copy.rows == 0 || copy.row_bytes == 0 || end.pitch_bytes < end.first_column_bytes + copy.row_bytes) {
    return nullptr;
  }
  const std::size_t before = end.first_row * end.pitch_bytes + end.first_column_bytes;
  if (end.type == cuda::MemoryType::host) {
    return end.host != nullptr ? static_cast<std::byte*>(end.host) + before : nullptr;
  }
  std::size_t offset = 0;
  const std::size_t bytes = (copy.rows - 1) * end.pitch_bytes + copy.row_bytes;
  const Mapping* const mapping = machine.find_here(end.device + before, bytes, &offset);
  const bool is_usable = mapping != nullptr && (is_written ? mapping->is_writable : mapping->is_readable);
  return is_usable && end.type == cuda::MemoryType::device ? mapping->alias + offset : nullptr;
}

void put_rows(Machine& machine, const cuda::Copy2D& copy, std::byte* to, const std::byte* from, Stream stream) {
  for (std::size_t row = 0; row < copy.rows; ++row) {
    std::fill_n(to + row * copy.to.pitch_bytes, copy.row_bytes, poison);
  }
  machine.put(stream, [copy, to, from] {
    for (std::size_t row = 0; row < copy.rows; ++row) {
      std::memcpy(to + row * copy.to.pitch_bytes, from + row * copy.from.pitch_bytes, copy.row_bytes);
    }
  });
}

Result await_stream(Stream stream) {
  constexpr int most_looks = 200'000;
  for (int i = 0; i < most_looks; ++i) {
    {
      Machine& machine = Machine::get();
      const std::scoped_lock lock(machine.mutex);
      const auto found = machine.streams.find(stream);
      if (found == machine.streams.end()) {
        return invalid_handle;
      }
      if (found->second.empty()) {
        return ok;
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return Result{702};  // CUDA_ERROR_LAUNCH_TIMEOUT
}

void add_work_functions(FunctionTable& functions) {
  functions["cuMemsetD8Async"] = address_of(set_bytes);
  functions["cuMemcpyDtoHAsync"] = address_of(copy_to_host);
  functions["cuMemcpyHtoDAsync"] = address_of(copy_from_host);
  functions["cuMemcpyDtoDAsync"] = address_of(copy_on_device);
  functions["cuMemcpy2DAsync"] = address_of(copy_rows);
  functions["cuFlushGPUDirectRDMAWrites"] = address_of(flush_remote_writes);
  functions["cuStreamCreate"] = address_of(make_stream);
  functions["cuStreamQuery"] = address_of(query_stream);
  functions["cuStreamDestroy"] = address_of(end_stream);
  functions["cuEventCreate"] = address_of(make_event);
  functions["cuEventRecord"] = address_of(record_event);
  functions["cuEventQuery"] = address_of(query_event);
  functions["cuEventDestroy"] = address_of(end_event);
}

}  // namespace framewire::test::cuda_stand_in
