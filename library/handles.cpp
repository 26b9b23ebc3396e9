#include "library/handles.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "library/failure.hpp"

namespace framewire {

namespace {

static_assert(sizeof(void*) == 8, "a handle needs 64 bits");

constexpr unsigned kind_bits = 4;
constexpr unsigned generation_bits = 24;

/// The parts of a handle.
struct HandleParts {
  std::uint64_t place : 20;
  std::uint64_t generation : generation_bits;  // of the object at the place
  std::uint64_t process : 8;                   // how many forks it is away from the first one
  std::uint64_t kind : kind_bits;
  std::uint64_t mark : 8;  // no address has it
};
constexpr std::size_t most_places = std::size_t{1} << 20U;
constexpr std::uint64_t mark = 0xF3;

HandleParts parts_of(const void* handle) noexcept {
  return std::bit_cast<HandleParts>(handle);
}

void* handle_of(const HandleParts& parts) noexcept {
  return std::bit_cast<void*>(parts);
}

/// As it is written into the words.
constexpr std::uint64_t number_of(HandleKind kind) noexcept {
  return static_cast<std::uint64_t>(kind);
}

std::string_view name_of(std::uint64_t kind) noexcept {
  constexpr std::array<std::string_view, 6> names{"nothing", "sender", "stream", "slot", "receiver", "frame"};
  return kind < names.size() ? names.at(kind) : "unknown handle";
}

/// The counts of a place, in one word, so that one step changes them together.
struct Counts {
  std::uint64_t references : 18;  // of the program; 0: the handle is dead
  std::uint64_t uses : 18;        // calls that use the object now: at most one a thread
  std::uint64_t kind : kind_bits;
  std::uint64_t generation : generation_bits;  // counts the objects that were here
};

}  // namespace

/// A place of the table. Its object ends when both counts are 0. Who brings them there alone has it then; later the
/// place gets another object with the next generation.
class handles::Place {
 public:
  explicit Place(std::uint32_t index) noexcept : index_(index) {}

  /// No other thread knows the new handle yet. Returns the generation.
  std::uint64_t occupy(HandleKind kind, std::shared_ptr<void> object) noexcept {
    object_ = std::move(object);
    auto counts = std::bit_cast<Counts>(counts_.load(std::memory_order_relaxed));
    ++counts.generation;
    counts.kind = number_of(kind) & 0xFU;
    counts.references = 1;
    counts_.store(std::bit_cast<std::uint64_t>(counts), std::memory_order_release);
    return counts.generation;
  }

  /// `change` changes the counts, or returns false. False also where the handle that has these parts is dead.
  template <typename Change>
  bool change_living(const HandleParts& parts, Change&& change) noexcept {
    std::uint64_t before = counts_.load(std::memory_order_relaxed);
    for (;;) {
      auto counts = std::bit_cast<Counts>(before);
      const bool is_living =
          counts.references > 0 && counts.generation == parts.generation && counts.kind == parts.kind;
      if (!is_living || !change(counts)) {
        return false;
      }
      if (counts_.compare_exchange_weak(before, std::bit_cast<std::uint64_t>(counts), std::memory_order_acq_rel)) {
        return true;
      }
    }
  }

  /// Ends a use. The object, if this was the last of all: the place is free then.
  std::shared_ptr<void> end_use() noexcept {
    std::uint64_t before = counts_.load(std::memory_order_relaxed);
    Counts counts{};
    do {
      counts = std::bit_cast<Counts>(before);
      --counts.uses;
    } while (!counts_.compare_exchange_weak(before, std::bit_cast<std::uint64_t>(counts), std::memory_order_acq_rel));
    return counts.uses == 0 && counts.references == 0 ? std::exchange(object_, nullptr) : nullptr;
  }

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// For those who use the object.
  [[nodiscard]] void* object() const noexcept { return object_.get(); }

 private:
  const std::uint32_t index_;
  std::shared_ptr<void> object_;
  std::atomic<std::uint64_t> counts_ = 0;
};

namespace {

using handles::Place;

/// Places never move and never go, so that to look one up needs no lock.
class Table {
 public:
  explicit Table(std::uint64_t process) noexcept : process_(process & 0xFFU) {}

  /// As it is in the handles.
  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }

  /// Null for a number that no place has had yet.
  [[nodiscard]] Place* at(std::uint64_t index) const noexcept {
    Place* const chunk = chunks_[index / chunk_places].load(std::memory_order_acquire);
    return chunk != nullptr ? chunk + index % chunk_places : nullptr;
  }

  Place& take_free() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      add_chunk();
    }
    Place& place = *free_.back();
    free_.pop_back();
    return place;
  }

  void give_back(Place& place) noexcept {
    const std::scoped_lock lock(mutex_);
    free_.push_back(&place);
  }

 private:
  static constexpr std::size_t chunk_places = 1024;
  static constexpr std::size_t most_chunks = most_places / chunk_places;

  void add_chunk() {
    if (chunk_count_ == most_chunks) {
      throw Failure(FW_ERROR_MEMORY, "this process has a million handles of framewire; end some");
    }
    free_.reserve((chunk_count_ + 1) * chunk_places);  // so that to end a handle needs no memory
    const auto first = static_cast<std::uint32_t>(chunk_count_ * chunk_places);
    auto* const chunk = std::allocator<Place>().allocate(chunk_places);
    for (std::uint32_t i = chunk_places; i-- > 0;) {
      free_.push_back(std::construct_at(chunk + i, first + i));
    }
    chunks_[chunk_count_++].store(chunk, std::memory_order_release);
  }

  const std::uint64_t process_;
  std::array<std::atomic<Place*>, most_chunks> chunks_{};
  std::mutex mutex_;  // guards what follows
  std::size_t chunk_count_ = 0;
  std::vector<Place*> free_;  // the one to take next last
};

/// Never destroyed: threads of the program may call the library while it ends.
Table* table = nullptr;

/// The parent's objects are left as they are: their threads do not exist here, and their memory is the parent's, too.
void after_fork_in_child() {
  table = new Table(table->process() + 1);  // glibc's malloc works here
  close_owned_descriptors();
}

Table& the_table() {
  [[maybe_unused]] static const bool is_prepared = [] {  // std::call_once() would cost more than a look-up
    table = new Table(0);
    return ::pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
  }();
  return *table;
}

/// Changes the counts of the handle's object, which has this kind. The place, or null: the handle is wrong.
template <typename Change>
Place* change_living(const void* handle, HandleKind kind, Change&& change) noexcept {
  const Table& all = the_table();
  const HandleParts parts = parts_of(handle);
  if (parts.mark != mark || parts.kind != number_of(kind) || parts.process != all.process()) {
    return nullptr;
  }
  Place* const place = all.at(parts.place);
  return place != nullptr && place->change_living(parts, change) ? place : nullptr;
}

[[noreturn]] void refuse(const void* handle, HandleKind kind, std::string_view function) {
  const HandleParts parts = parts_of(handle);
  const std::string wanted = std::string(function) + "(): ";
  const std::string name(name_of(number_of(kind)));
  if (handle == nullptr) {
    throw Failure(FW_ERROR_ARGUMENT, wanted + "the " + name + " is NULL");
  }
  if (parts.mark != mark || name_of(parts.kind) == "unknown handle" || parts.kind == number_of(HandleKind::none)) {
    throw Failure(FW_ERROR_ARGUMENT, wanted + "this is no handle of framewire, and never was; it takes a " + name);
  }
  if (parts.process != the_table().process()) {
    throw Failure(FW_ERROR_FORKED, wanted + "the " + std::string(name_of(parts.kind)) +
                                       " belongs to the process that this one was forked from; make a new one here");
  }
  if (parts.kind != number_of(kind)) {
    throw Failure(FW_ERROR_ARGUMENT, wanted + "this is a " + std::string(name_of(parts.kind)) + "; it takes a " + name);
  }
  throw Failure(FW_ERROR_ARGUMENT, wanted + "this " + name + " was ended before");
}

}  // namespace

namespace handles {

Use::~Use() {
  if (place_ == nullptr) {
    return;
  }
  if (auto ended = place_->end_use()) {
    Place& place = *std::exchange(place_, nullptr);
    ended.reset();
    the_table().give_back(place);
  }
}

void* Use::object() const noexcept {
  return place_->object();
}

void* add(HandleKind kind, std::shared_ptr<void> object) {
  Table& all = the_table();
  Place& place = all.take_free();
  const std::uint64_t generation = place.occupy(kind, std::move(object));
  return handle_of({.place = place.index() & 0xFFFFFU,
                    .generation = generation & 0xFFFFFFU,
                    .process = all.process() & 0xFFU,
                    .kind = number_of(kind) & 0xFU,
                    .mark = mark});
}

Use find(const void* handle, HandleKind kind, std::string_view function) {
  const auto use_once_more = [](Counts& counts) {
    ++counts.uses;
    return true;
  };
  Use use(change_living(handle, kind, use_once_more));
  if (!use) {
    refuse(handle, kind, function);
  }
  return use;
}

void add_reference(const void* handle, HandleKind kind, std::string_view function) {
  const Use use = find(handle, kind, function);
  const auto refer_once_more = [](Counts& counts) {
    ++counts.references;
    return counts.references != 0;
  };
  if (change_living(handle, kind, refer_once_more) == nullptr) {
    throw Failure(FW_ERROR_STATE, std::string(function) + "(): there are 262,143 references already, or none is left");
  }
}

Use end_reference(const void* handle, HandleKind kind) noexcept {
  bool is_last = false;
  const auto refer_once_less = [&](Counts& counts) {
    --counts.references;
    is_last = counts.references == 0;
    if (is_last) {
      ++counts.uses;  // the caller's
    }
    return true;
  };
  Place* const place = change_living(handle, kind, refer_once_less);
  return Use(is_last ? place : nullptr);
}

}  // namespace handles

}  // namespace framewire
