// The state of the stand-in for NVIDIA's driver (stand_in.hpp), which its functions share.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/cuda/driver.hpp"

namespace framewire::test::cuda_stand_in {

using cuda::Address;
using cuda::Attribute;
using cuda::Context;
using cuda::DeviceNumber;
using cuda::Event;
using cuda::MemoryHandle;
using cuda::Result;
using cuda::Stream;

inline constexpr Result ok = Result::success;
inline constexpr auto invalid_value = Result{1};
inline constexpr auto invalid_device = Result{101};
inline constexpr auto invalid_context = Result{201};
inline constexpr auto ecc_error = Result{214};
inline constexpr auto invalid_handle = Result{400};
inline constexpr auto not_found = Result{500};
inline constexpr auto already_registered = Result{712};
inline constexpr auto not_registered = Result{713};
inline constexpr auto not_supported = Result{801};
inline constexpr auto unknown_error = Result{999};

inline constexpr std::size_t granularity = std::size_t{2} << 20;
inline constexpr std::size_t default_free_bytes = std::size_t{1} << 30;
inline constexpr std::byte poison{0xa5};
inline constexpr const char* memory_name = "stand-in-cuda";

struct Allocation {
  int memfd = -1;
  std::size_t bytes = 0;
  bool is_shareable = false;
  bool is_for_rdma = false;
  bool is_imported = false;
  DeviceNumber device = 0;
};

struct Mapping {
  std::size_t bytes = 0;
  std::byte* alias = nullptr;  // the same memory, for the device
  MemoryHandle handle = 0;     // 0: by allocate()
  bool is_readable = false;
  bool is_writable = false;
  DeviceNumber device = 0;  // that may touch it
};

struct EventState {
  std::uint64_t recorded = 0;  // how often
  std::uint64_t done = 0;
};

/// One step of a stream.
using Step = std::function<void()>;

struct Failure {
  std::string function;
  Result result;
  int calls_before;
};

/// One for each process. Its thread does the work of streams.
class Machine {
 public:
  static Machine& get();

  std::mutex mutex;  // guards everything
  int device_count = 1;
  bool has_peer_access = false;
  int driver_version = 12000;
  cuda::Uuid uuid{};        // of the first device; the others count on
  bool has_slices = false;  // the devices are slices of one GPU
  bool has_pcie_mapping = true;
  std::size_t free_bytes = default_free_bytes;
  std::map<int, int> attributes;
  std::vector<Failure> failures;
  std::string hidden;
  Result lost = ok;
  std::optional<int> copies_before_loss;  // of the device
  bool holds_work = false;
  std::map<DeviceNumber, std::size_t> retained;
  std::size_t pushed = 0;  // contexts of all threads
  std::map<std::string, std::size_t, std::less<>> calls;
  std::size_t flushes = 0;
  std::map<MemoryHandle, Allocation> allocations;
  std::map<Address, std::size_t> reserved;
  std::map<Address, Mapping> mappings;
  std::map<std::uintptr_t, std::size_t> registered;
  std::map<Stream, std::deque<Step>> streams;
  std::map<Event, EventState> events;
  std::uintptr_t next_number = 1000;

  void reset_settings();

  /// What this call is to give, if that is not what it does.
  std::optional<Result> forced(std::string_view function);

  void put(Stream stream, Step step);

  /// Memory by cuMemAlloc: no other process, and no OpenGL, has it. 0: there is no room.
  Address allocate(std::size_t bytes);
  bool free(Address address);

  /// The mapping with this whole range.
  Mapping* find(Address address, std::size_t bytes, std::size_t* offset);
  /// The same for work of the current context, which is of one device.
  Mapping* find_here(Address address, std::size_t bytes, std::size_t* offset);
  /// A number for a stream or an event of the current context.
  std::uintptr_t next_number_here();
  /// The stream is there, and of the current context.
  [[nodiscard]] bool is_stream_here(Stream stream) const;

 private:
  Machine();
  static cuda::Uuid usual_uuid();

  void take_faults_of_environment();
  void run();

  std::condition_variable changed_;
};

/// The contexts that this thread has pushed. Nothing destroys it: a program's static objects may call the driver after
/// the objects of their thread have gone.
struct ContextStack {
  std::array<Context, 8> pushed;
  std::size_t size;
};
ContextStack& contexts();

/// Contexts, streams and events of a device have its number in the upper half of theirs.
inline constexpr unsigned device_shift = 32;
template <typename Object>
DeviceNumber device_of(Object* object) {
  return static_cast<DeviceNumber>(reinterpret_cast<std::uintptr_t>(object) >> device_shift);
}
inline std::uintptr_t number_of(DeviceNumber device, std::uintptr_t number) {
  return (static_cast<std::uintptr_t>(device) << device_shift) + number;
}
inline Context context_of(DeviceNumber device) {
  return reinterpret_cast<Context>(number_of(device, 0xC0DE));
}
/// Of the current context, which there is.
inline DeviceNumber current_device() {
  return device_of(contexts().pushed.at(contexts().size - 1));
}

/// What every function begins with: it is made to fail, or the machine, locked.
template <typename Body>
Result guarded(const char* function, bool needs_context, Body&& body) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  if (const auto forced = machine.forced(function)) {
    return *forced;
  }
  return needs_context && contexts().size == 0 ? invalid_context : body(machine);
}

inline bool is_device(const Machine& machine, DeviceNumber device) {
  return device >= 0 && device < machine.device_count;
}

inline cuda::Uuid uuid_of(const Machine& machine, DeviceNumber device) {
  cuda::Uuid uuid = machine.uuid;
  uuid.back() = static_cast<std::uint8_t>(uuid.back() + device);
  return uuid;
}

/// What a copy of rows needs of either end: that the rows are in memory that it may touch, and where they are for the
/// device. Null if not.
std::byte* rows_of(Machine& machine, const cuda::Copy2DEnd& end, const cuda::Copy2D& copy, bool is_written);
/// Puts the copy into the stream. Both ends are from rows_of().
void put_rows(Machine& machine, const cuda::Copy2D& copy, std::byte* to, const std::byte* from, Stream stream);
/// Waits until the stream has nothing to do. Without the machine's mutex.
Result await_stream(Stream stream);

/// The functions by name, as cuGetProcAddress finds them.
using FunctionTable = std::map<std::string_view, void*>;
const FunctionTable& functions();
void add_device_functions(FunctionTable& functions);
void add_memory_functions(FunctionTable& functions);
void add_work_functions(FunctionTable& functions);

template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace framewire::test::cuda_stand_in
