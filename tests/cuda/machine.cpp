// A libcuda.so.1 without a GPU. The memory of its device are memfds; the program knows it only by addresses without
// access rights, so that whatever touches it by mistake gets a signal or EFAULT. Work ends late, in the order of its
// stream, and in no order between streams; until then the destination of a copy is poisoned. Arguments are checked as
// the driver checks them.
#include "tests/cuda/machine.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "tests/cuda/function_versions.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire::test::cuda_stand_in {

ContextStack& contexts() {
  thread_local constinit ContextStack of_this_thread{};
  return of_this_thread;
}

Machine& Machine::get() {
  static auto* machine = new Machine;  // its thread runs until the process ends
  return *machine;
}

Machine::Machine() {
  reset_settings();
  std::thread([this] { run(); }).detach();
}

/// FRAMEWIRE_STAND_IN_DEVICES in a program's environment; else one.
int usual_device_count() {
  const char* const wanted = std::getenv("FRAMEWIRE_STAND_IN_DEVICES");
  return wanted == nullptr ? 1 : std::stoi(wanted);
}

void Machine::reset_settings() {
  device_count = usual_device_count();
  has_peer_access = std::getenv("FRAMEWIRE_STAND_IN_PEER_ACCESS") != nullptr;
  driver_version = 12000;
  uuid = usual_uuid();
  has_slices = false;
  has_pcie_mapping = true;
  free_bytes = default_free_bytes;
  attributes = {{14, 512}, {102, 1}, {103, 1}, {110, 1}, {116, 1}, {117, 1}, {118, 100}, {124, 1}};
  failures.clear();
  hidden.clear();
  lost = ok;
  copies_before_loss.reset();
  take_faults_of_environment();
  holds_work = false;
  flushes = 0;
  calls.clear();
  for (auto& [stream, steps] : streams) {
    steps.clear();
  }
}

/// FRAMEWIRE_STAND_IN_LOST_AFTER: after so many copies of a device it is lost.
/// FRAMEWIRE_STAND_IN_FAILED_COPY: of those to the device, the one after so many fails.
void Machine::take_faults_of_environment() {
  if (const char* const copies = std::getenv("FRAMEWIRE_STAND_IN_LOST_AFTER"); copies != nullptr) {
    copies_before_loss = std::stoi(copies);
  }
  if (const char* const copies = std::getenv("FRAMEWIRE_STAND_IN_FAILED_COPY"); copies != nullptr) {
    failures.push_back({"cuMemcpyHtoDAsync", unknown_error, std::stoi(copies)});
  }
}

/// The program in whose environment FRAMEWIRE_STAND_IN_UUID is: a device that OpenGL has, too.
cuda::Uuid Machine::usual_uuid() {
  cuda::Uuid uuid;
  uuid.fill(0xab);
  uuid.back() = 0;
  const char* const wanted = std::getenv("FRAMEWIRE_STAND_IN_UUID");
  for (std::size_t i = 0; wanted != nullptr && i < uuid.size() && std::strlen(wanted) == 2 * uuid.size(); ++i) {
    uuid.at(i) = static_cast<std::uint8_t>(std::stoul(std::string(wanted + 2 * i, 2), nullptr, 16));
  }
  return uuid;
}

std::optional<Result> Machine::forced(std::string_view function) {
  if (const auto called = calls.find(function); called != calls.end()) {
    ++called->second;
  } else {
    calls.emplace(function, 1);
  }
  const bool is_copy =
      function == "cuMemcpyDtoHAsync" || function == "cuMemcpyHtoDAsync" || function == "cuMemcpyDtoDAsync";
  if (is_copy && copies_before_loss && (*copies_before_loss)-- == 0) {
    lost = ecc_error;
  }
  for (auto failure = failures.begin(); failure != failures.end(); ++failure) {
    if (failure->function == function && failure->calls_before-- == 0) {
      const Result result = failure->result;
      failures.erase(failure);
      return result;
    }
  }
  return lost != ok ? std::optional(lost) : std::nullopt;
}

void Machine::put(Stream stream, Step step) {
  streams[stream].push_back(std::move(step));
  changed_.notify_all();
}

Mapping* Machine::find(Address address, std::size_t bytes, std::size_t* offset) {
  auto after = mappings.upper_bound(address);
  if (after == mappings.begin()) {
    return nullptr;
  }
  auto& [begin, mapping] = *--after;
  *offset = address - begin;
  return *offset <= mapping.bytes && bytes <= mapping.bytes - *offset ? &mapping : nullptr;
}

Mapping* Machine::find_here(Address address, std::size_t bytes, std::size_t* offset) {
  Mapping* const mapping = find(address, bytes, offset);
  return mapping != nullptr && mapping->device == current_device() ? mapping : nullptr;
}

std::uintptr_t Machine::next_number_here() {
  return number_of(current_device(), next_number++);
}

bool Machine::is_stream_here(Stream stream) const {
  return device_of(stream) == current_device() && streams.contains(stream);
}

void Machine::run() {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the order is to be the same each time
  std::unique_lock lock(mutex);
  for (;;) {
    std::vector<Stream> busy;
    for (const auto& [stream, steps] : streams) {
      if (!steps.empty()) {
        busy.push_back(stream);
      }
    }
    if (busy.empty() || holds_work) {
      changed_.wait_for(lock, std::chrono::milliseconds(holds_work ? 1 : 100));
      continue;
    }
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    lock.lock();
    const auto chosen = streams.find(busy[random() % busy.size()]);
    if (chosen != streams.end() && !chosen->second.empty() && !holds_work) {  // it may have ended meanwhile
      const Step step = std::move(chosen->second.front());
      chosen->second.pop_front();
      step();
    }
  }
}

const FunctionTable& functions() {
  static const FunctionTable functions = [] {
    FunctionTable all;
    add_device_functions(all);
    add_memory_functions(all);
    add_work_functions(all);
    return all;
  }();
  return functions;
}

// ---- What tests ask ----

void reset() {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.reset_settings();
}

void set_device_count(int count) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.device_count = count;
}

void set_peer_access(bool has_peer_access) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.has_peer_access = has_peer_access;
}

void set_attribute(int attribute, int value) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.attributes[attribute] = value;
}

void set_driver_version(int version) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.driver_version = version;
}

void set_uuid(const std::array<std::uint8_t, 16>& uuid) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.uuid = uuid;
}

void set_slices(bool has_slices) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.has_slices = has_slices;
}

void set_pcie_mapping(bool has_pcie_mapping) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.has_pcie_mapping = has_pcie_mapping;
}

bool is_by_pcie(int descriptor) {
  return (::fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
}

void set_free_bytes(std::size_t bytes) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.free_bytes = bytes;
}

void fail(const char* function, int result, int calls_before) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.failures.push_back({function, Result{result}, calls_before});
}

std::size_t failures_to_come() {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  return machine.failures.size();
}

void hide(const char* function) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.hidden = function != nullptr ? function : "";
}

void lose_device(int result) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.lost = Result{result};
}

void hold_work(bool holds) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.holds_work = holds;
}

std::byte* memory_at(std::uint64_t address) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  std::size_t offset = 0;
  const Mapping* const mapping = machine.find(address, 1, &offset);
  return mapping != nullptr ? mapping->alias + offset : nullptr;
}

std::size_t objects() {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  std::size_t count = machine.allocations.size() + machine.reserved.size() + machine.mappings.size() +
                      machine.registered.size() + machine.streams.size() + machine.events.size();
  for (const auto& [device, times] : machine.retained) {
    count += times;
  }
  return count;
}

std::size_t flushes() {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  return machine.flushes;
}

std::map<std::string, std::size_t, std::less<>> calls() {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  return machine.calls;
}

std::size_t contexts_on_this_thread() {
  return contexts().size;
}

std::size_t contexts_on_all_threads() {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  return machine.pushed;
}

}  // namespace framewire::test::cuda_stand_in

/// Also the name of the newer function, with one more argument, in cuda.h; libcuda.so.1 has both. For what is not there
/// NVIDIA's documents of CUDA 11 promise an error, those of CUDA 12 a null pointer. A driver that has this function is
/// of CUDA 11.3 or newer: the stand-in has it also as an older one.
// NOLINTNEXTLINE(readability-identifier-naming): NVIDIA's name
extern "C" framewire::cuda::Result cuGetProcAddress(const char* name, void** address, int version,
                                                    std::uint64_t flags) {
  using namespace framewire::test::cuda_stand_in;
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  *address = nullptr;
  if (version > std::max(machine.driver_version, 11030)) {
    return invalid_value;
  }
  if (const Variant* const variant = find_variant(name, version);
      variant != nullptr && machine.hidden != name && flags == 0) {
    *address = functions().at(variant->name_here);
  }
  return *address != nullptr || machine.driver_version >= 12000 ? ok : not_found;
}
