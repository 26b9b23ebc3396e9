#include "library/handles.hpp"

#include <pthread.h>

#include <array>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "library/failure.hpp"

namespace framewire {

namespace {

static_assert(sizeof(void*) == 8, "a handle needs 64 bits");

/// The parts of a handle, from the top: 8 bits that no address has, 4 for the kind, 8 for the process (how many forks
/// it is away from the first one), 20 for the generation of the place, 24 for the place.
constexpr std::uint64_t mark = 0xF3;
constexpr unsigned place_bits = 24;
constexpr unsigned generation_bits = 20;
constexpr unsigned process_bits = 8;
constexpr unsigned kind_bits = 4;

struct HandleParts {
  std::uint64_t mark = 0;
  HandleKind kind{};
  std::uint64_t process = 0;
  std::uint64_t generation = 0;
  std::uint64_t place = 0;
};

constexpr std::uint64_t low_bits(std::uint64_t value, unsigned bits) noexcept {
  return value & ((std::uint64_t{1} << bits) - 1);
}

HandleParts parts_of(const void* handle) noexcept {
  auto value = reinterpret_cast<std::uint64_t>(handle);
  const auto take = [&value](unsigned bits) {
    const std::uint64_t part = low_bits(value, bits);
    value >>= bits;
    return part;
  };
  HandleParts parts;
  parts.place = take(place_bits);
  parts.generation = take(generation_bits);
  parts.process = take(process_bits);
  parts.kind = static_cast<HandleKind>(take(kind_bits));
  parts.mark = value;
  return parts;
}

void* handle_of(const HandleParts& parts) noexcept {
  std::uint64_t value = parts.mark;
  value = value << kind_bits | static_cast<std::uint64_t>(parts.kind);
  value = value << process_bits | parts.process;
  value = value << generation_bits | parts.generation;
  value = value << place_bits | parts.place;
  return reinterpret_cast<void*>(value);
}

std::string_view name_of(HandleKind kind) noexcept {
  constexpr std::array<std::string_view, 6> names{"nothing", "sender", "stream", "slot", "receiver", "frame"};
  const auto index = static_cast<std::size_t>(kind);
  return index < names.size() ? names.at(index) : "unknown handle";
}

struct Place {
  std::shared_ptr<void> object;  // null: free
  HandleKind kind{};
  std::uint64_t generation = 0;  // counts the objects that were here
  std::uint32_t references = 0;
};

struct Table {
  std::mutex mutex;
  std::uint64_t process = 0;
  std::vector<Place> places;
  std::vector<std::uint32_t> free;
};

/// Never destroyed: threads of the program may call the library while it ends.
Table* table = nullptr;

void before_fork() {
  table->mutex.lock();
}

void after_fork_in_parent() {
  table->mutex.unlock();
}

/// The parent's objects are left as they are: their threads do not exist here, and their memory is the parent's, too.
void after_fork_in_child() {
  const std::uint64_t process = table->process + 1;
  table = new Table;  // glibc's malloc works here
  table->process = process;
  close_owned_descriptors();
}

Table& the_table() {
  static std::once_flag once;
  std::call_once(once, [] {
    table = new Table;
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  });
  return *table;
}

/// Where the handle's object is, or null. Call with the mutex.
Place* place_of(Table& all, const HandleParts& parts, HandleKind kind) noexcept {
  if (parts.mark != mark || parts.kind != kind || parts.place >= all.places.size() ||
      parts.process != low_bits(all.process, process_bits)) {
    return nullptr;
  }
  Place& place = all.places[parts.place];
  return place.object && place.kind == kind && low_bits(place.generation, generation_bits) == parts.generation
             ? &place
             : nullptr;
}

[[noreturn]] void refuse(const Table& all, const void* handle, HandleKind kind, std::string_view function) {
  const HandleParts parts = parts_of(handle);
  const std::string wanted = std::string(function) + "(): ";
  if (handle == nullptr) {
    throw Failure(FW_ERROR_ARGUMENT, wanted + "the " + std::string(name_of(kind)) + " is NULL");
  }
  if (parts.mark != mark || name_of(parts.kind) == "unknown handle" || parts.kind == HandleKind::none) {
    throw Failure(FW_ERROR_ARGUMENT,
                  wanted + "this is no handle of framewire, and never was; it takes a " + std::string(name_of(kind)));
  }
  if (parts.process != low_bits(all.process, process_bits)) {
    throw Failure(FW_ERROR_FORKED, wanted + "the " + std::string(name_of(parts.kind)) +
                                       " belongs to the process that this one was forked from; make a new one here");
  }
  if (parts.kind != kind) {
    throw Failure(FW_ERROR_ARGUMENT, wanted + "this is a " + std::string(name_of(parts.kind)) + "; it takes a " +
                                         std::string(name_of(kind)));
  }
  throw Failure(FW_ERROR_ARGUMENT, wanted + "this " + std::string(name_of(kind)) + " was ended before");
}

}  // namespace

namespace handles {

void* add(HandleKind kind, std::shared_ptr<void> object) {
  Table& all = the_table();
  const std::scoped_lock lock(all.mutex);
  if (all.free.empty()) {
    if (all.places.size() >> place_bits != 0) {
      throw Failure(FW_ERROR_MEMORY, "this process has 16 million handles of framewire; end some");
    }
    all.places.emplace_back();
    all.free.reserve(all.places.capacity());  // so that to end a handle needs no memory
    all.free.push_back(static_cast<std::uint32_t>(all.places.size() - 1));
  }
  const std::uint32_t index = all.free.back();
  all.free.pop_back();
  Place& place = all.places[index];
  place.object = std::move(object);
  place.kind = kind;
  place.references = 1;
  ++place.generation;
  return handle_of({.mark = mark,
                    .kind = kind,
                    .process = low_bits(all.process, process_bits),
                    .generation = low_bits(place.generation, generation_bits),
                    .place = index});
}

std::shared_ptr<void> find(const void* handle, HandleKind kind, std::string_view function) {
  Table& all = the_table();
  const std::scoped_lock lock(all.mutex);
  if (const Place* place = place_of(all, parts_of(handle), kind)) {
    return place->object;
  }
  refuse(all, handle, kind, function);
}

void add_reference(const void* handle, HandleKind kind, std::string_view function) {
  Table& all = the_table();
  const std::scoped_lock lock(all.mutex);
  Place* const place = place_of(all, parts_of(handle), kind);
  if (place == nullptr) {
    refuse(all, handle, kind, function);
  }
  if (place->references == UINT32_MAX) {
    throw Failure(FW_ERROR_STATE, std::string(function) + "(): there are 4 thousand million references already");
  }
  ++place->references;
}

std::shared_ptr<void> end_reference(const void* handle, HandleKind kind) noexcept {
  Table& all = the_table();
  const std::scoped_lock lock(all.mutex);
  Place* const place = place_of(all, parts_of(handle), kind);
  if (place == nullptr || --place->references > 0) {
    return nullptr;
  }
  all.free.push_back(static_cast<std::uint32_t>(place - all.places.data()));
  return std::exchange(place->object, nullptr);
}

}  // namespace handles

}  // namespace framewire
