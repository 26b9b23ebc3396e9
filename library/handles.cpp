#include "library/handles.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "library/failure.hpp"

namespace framewire {

namespace {

static_assert(sizeof(void*) == 8, "a handle needs 64 bits");

/// The lowest `bits` bits.
constexpr std::uint64_t ones(unsigned bits) noexcept {
  return (std::uint64_t{1} << bits) - 1;
}

/// What a handle and the word of its place have in common: a kind, and above it the generation, which counts the
/// objects that were at the place.
constexpr unsigned kind_bits = 4;
constexpr unsigned identity_bits = kind_bits + 24;

/// A handle, from the lowest bit: its place, its identity, how many forks its process is away from the first one, and a
/// mark that no address has.
constexpr unsigned place_bits = 20;
constexpr unsigned process_bits = 8;
constexpr unsigned process_shift = place_bits + identity_bits;
constexpr std::uint64_t mark = 0xF3;
constexpr std::size_t most_places = std::size_t{1} << place_bits;

/// The word of a place, from the lowest bit: the program's references (0: the handle is dead), the calls that use the
/// object now (at most one a thread), and the identity. One word, so that one step changes all of it.
constexpr unsigned count_bits = 18;
constexpr unsigned identity_shift = 2 * count_bits;
constexpr std::uint64_t one_reference = 1;
constexpr std::uint64_t one_use = one_reference << count_bits;

/// A handle, or a number that claims to be one.
struct HandleWord {
  std::uint64_t bits;

  [[nodiscard]] std::uint64_t place() const noexcept { return bits & ones(place_bits); }
  [[nodiscard]] std::uint64_t identity() const noexcept { return (bits >> place_bits) & ones(identity_bits); }
  [[nodiscard]] std::uint64_t kind() const noexcept { return identity() & ones(kind_bits); }
  /// The process and the mark.
  [[nodiscard]] std::uint64_t origin() const noexcept { return bits >> process_shift; }
  [[nodiscard]] bool has_mark() const noexcept { return origin() >> process_bits == mark; }
};

HandleWord word_of(const void* handle) noexcept {
  return {std::bit_cast<std::uint64_t>(handle)};
}

constexpr std::uint64_t references_in(std::uint64_t counts) noexcept {
  return counts & ones(count_bits);
}

/// As it is written into the words.
constexpr std::uint64_t number_of(HandleKind kind) noexcept {
  return static_cast<std::uint64_t>(kind);
}

std::string_view name_of(std::uint64_t kind) noexcept {
  constexpr std::array<std::string_view, 6> names{"nothing", "sender", "stream", "slot", "receiver", "frame"};
  return kind < names.size() ? names.at(kind) : "unknown handle";
}

}  // namespace

/// A place of the table. Its object ends when both counts are 0. Who brings them there alone has it then; later the
/// place gets another object with the next generation.
class handles::Place {
 public:
  explicit Place(std::uint32_t index) noexcept : index_(index) {}

  /// No other thread knows the new handle yet. Returns its identity.
  std::uint64_t occupy(HandleKind kind, std::shared_ptr<void> object) noexcept {
    object_ = std::move(object);
    const std::uint64_t generation = (counts_.load(std::memory_order_relaxed) >> (identity_shift + kind_bits)) + 1;
    const std::uint64_t identity = (generation << kind_bits | number_of(kind)) & ones(identity_bits);
    counts_.store(identity << identity_shift | one_reference, std::memory_order_release);
    return identity;
  }

  /// Changes the counts of a living handle to what `changed` makes of them. What they were; nothing if the handle with
  /// this identity is dead.
  template <typename Changed>
  std::optional<std::uint64_t> change_living(std::uint64_t identity, Changed&& changed) noexcept {
    std::uint64_t before = counts_.load(std::memory_order_relaxed);
    while (before >> identity_shift == identity && references_in(before) != 0) {
      if (counts_.compare_exchange_weak(before, changed(before), std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
        return before;
      }
    }
    return std::nullopt;
  }

  /// Ends a use. The object, if this was the last of all: the place is free then.
  std::shared_ptr<void> end_use() noexcept {
    std::uint64_t before = counts_.load(std::memory_order_acquire);
    while ((before & ones(identity_shift)) != one_use) {
      const std::uint64_t after = before - one_use;
      if (counts_.compare_exchange_weak(before, after, std::memory_order_release, std::memory_order_acquire)) {
        return nullptr;
      }
    }
    // Without a reference, nobody but the last user changes the counts.
    counts_.store(before - one_use, std::memory_order_relaxed);
    return std::move(object_);
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
  explicit Table(std::uint64_t process) noexcept
      : process_(process & ones(process_bits)), origin_(mark << process_bits | process_) {}

  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }
  /// HandleWord::origin() of this process's handles.
  [[nodiscard]] std::uint64_t origin() const noexcept { return origin_; }

  /// Null for a number that no place has had yet.
  [[nodiscard]] Place* at(std::uint64_t index) const noexcept {
    Place* const chunk = chunks_[index / chunk_places].load(std::memory_order_acquire);
    return chunk != nullptr ? chunk + index % chunk_places : nullptr;
  }

  Place& take_free() {
    if (Place* const place = spare_.exchange(nullptr, std::memory_order_acq_rel)) {
      return *place;
    }
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      add_chunk();
    }
    Place& place = *free_.back();
    free_.pop_back();
    return place;
  }

  void give_back(Place& place) noexcept {
    if (Place* const other = spare_.exchange(&place, std::memory_order_acq_rel)) {
      const std::scoped_lock lock(mutex_);
      free_.push_back(other);
    }
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
  const std::uint64_t origin_;
  std::array<std::atomic<Place*>, most_chunks> chunks_{};
  std::atomic<Place*> spare_ = nullptr;  // the place that was given back last: a program that streams needs no other
  std::mutex mutex_;                     // guards what follows
  std::size_t chunk_count_ = 0;
  std::vector<Place*> free_;  // the one to take next last
};

/// Never destroyed: threads of the program may call the library while it ends.
Table* table = nullptr;

/// The parent's objects are left as they are: their threads do not exist here, and their memory is the parent's, too.
void after_fork_in_child() {
  table = new Table(table->process() + 1);  // glibc's malloc works here
}

Table& the_table() {
  [[maybe_unused]] static const bool is_prepared = [] {  // std::call_once() would cost more than a look-up
    table = new Table(0);
    return prepare_for_fork(after_fork_in_child);
  }();
  return *table;
}

/// A place, and what its counts were before they were changed.
struct Changed {
  Place* place = nullptr;  // null: the handle is wrong, and nothing was changed
  std::uint64_t before = 0;
};

/// Changes the counts of the handle's object, which has this kind, to what `changed` makes of them.
template <typename Change>
Changed change_living(const void* handle, HandleKind kind, Change&& changed) noexcept {
  const Table& all = the_table();
  const HandleWord word = word_of(handle);
  if (word.origin() != all.origin() || word.kind() != number_of(kind)) {
    return {};
  }
  Place* const place = all.at(word.place());
  const auto before = place != nullptr ? place->change_living(word.identity(), changed) : std::nullopt;
  return before ? Changed{place, *before} : Changed{};
}

[[noreturn]] void refuse(const void* handle, HandleKind kind, std::string_view function) {
  const HandleWord word = word_of(handle);
  const std::string wanted = std::string(function) + "(): ";
  const std::string name(name_of(number_of(kind)));
  const std::string given(name_of(word.kind()));
  if (handle == nullptr) {
    throw Failure(FW_ERROR_ARGUMENT, wanted + "the " + name + " is NULL");
  }
  if (!word.has_mark() || given == "unknown handle" || word.kind() == number_of(HandleKind::none)) {
    throw Failure(FW_ERROR_ARGUMENT, wanted + "this is no handle of framewire, and never was; it takes a " + name);
  }
  if (word.origin() != the_table().origin()) {
    throw Failure(FW_ERROR_FORKED, wanted + "the " + given +
                                       " belongs to the process that this one was forked from; make a new one here");
  }
  if (word.kind() != number_of(kind)) {
    throw Failure(FW_ERROR_ARGUMENT, wanted + "this is a " + given + "; it takes a " + name);
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
  const std::uint64_t identity = place.occupy(kind, std::move(object));
  return std::bit_cast<void*>(all.origin() << process_shift | identity << place_bits | place.index());
}

Use find(const void* handle, HandleKind kind, std::string_view function) {
  const Changed changed = change_living(handle, kind, [](std::uint64_t counts) { return counts + one_use; });
  if (changed.place == nullptr) {
    refuse(handle, kind, function);
  }
  return Use(changed.place);
}

void add_reference(const void* handle, HandleKind kind, std::string_view function) {
  const auto refer_once_more = [](std::uint64_t counts) {
    return references_in(counts) < ones(count_bits) ? counts + one_reference : counts;
  };
  const Changed changed = change_living(handle, kind, refer_once_more);
  if (changed.place == nullptr) {
    refuse(handle, kind, function);
  }
  if (references_in(changed.before) == ones(count_bits)) {
    throw Failure(FW_ERROR_STATE, std::string(function) + "(): there are 262,143 references already");
  }
}

Use end_reference(const void* handle, HandleKind kind) noexcept {
  const auto refer_once_less = [](std::uint64_t counts) {
    const std::uint64_t less = counts - one_reference;
    return references_in(less) == 0 ? less + one_use : less;  // the caller's use
  };
  const Changed changed = change_living(handle, kind, refer_once_less);
  return Use(changed.place != nullptr && references_in(changed.before) == 1 ? changed.place : nullptr);
}

}  // namespace handles

}  // namespace framewire
