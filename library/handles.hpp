// Handles: numbers that stand for objects, so that a wrong one is found and never followed. The look-up of a right one
// is here, to be inlined: programs make four of them for a message.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "library/include/framewire/framewire.h"

namespace framewire {

enum class HandleKind : std::uint8_t { none, sender, stream, slot, receiver, frame };

class Sender;
class SourceStream;
class Slot;
class Receiver;
class Frame;

/// The kind and the C name of each type of object. An object has a function ended(handles::Place&): no handle names it
/// any more, and no call uses it. It vacates the place, and gives it back unless it keeps it for its next handle.
template <typename Object>
struct HandleOf;
template <>
struct HandleOf<Sender> {
  using type = fw_sender;
  static constexpr HandleKind kind = HandleKind::sender;
};
template <>
struct HandleOf<SourceStream> {
  using type = fw_stream;
  static constexpr HandleKind kind = HandleKind::stream;
};
template <>
struct HandleOf<Slot> {
  using type = fw_slot;
  static constexpr HandleKind kind = HandleKind::slot;
};
template <>
struct HandleOf<Receiver> {
  using type = fw_receiver;
  static constexpr HandleKind kind = HandleKind::receiver;
};
template <>
struct HandleOf<Frame> {
  using type = fw_frame;
  static constexpr HandleKind kind = HandleKind::frame;
};

/// The table of this process's handles, with a count of references for each. Any thread; none waits for another, but to
/// take and to give back a place. After fork() the child has a new, empty one; its parent's handles are told by a
/// number that counts forks. Its first use prepares for that.
namespace handles {

static_assert(sizeof(void*) == 8, "a handle needs 64 bits");

/// The lowest `bits` bits.
constexpr std::uint64_t ones(unsigned bits) noexcept {
  return (std::uint64_t{1} << bits) - 1;
}

/// As it is written into the words.
constexpr std::uint64_t number_of(HandleKind kind) noexcept {
  return static_cast<std::uint64_t>(kind);
}

/// What a handle and the word of its place have in common: a kind, and above it the generation, which counts the
/// handles that the place has had.
constexpr unsigned kind_bits = 3;
constexpr unsigned identity_bits = kind_bits + 24;

/// A handle, from the lowest bit: its place, its identity, how many forks its process is away from the first one, and a
/// mark that no address has.
constexpr unsigned place_bits = 20;
constexpr unsigned process_bits = 9;
constexpr unsigned process_shift = place_bits + identity_bits;
constexpr std::uint64_t handle_mark = 0xF3;
constexpr std::size_t most_places = std::size_t{1} << place_bits;

/// The word of a place, from the lowest bit: the program's references (0: the handle is dead), the calls that use the
/// object now (at most one a thread), two marks, and the identity. One word, so that one step changes all of it.
constexpr unsigned reference_bits = 18;
constexpr unsigned use_bits = 17;
constexpr unsigned identity_shift = reference_bits + use_bits + 2;
constexpr std::uint64_t one_reference = 1;
constexpr std::uint64_t one_use = one_reference << reference_bits;
constexpr std::uint64_t most_references = ones(reference_bits);
constexpr std::uint64_t all_counts = ones(reference_bits + use_bits);
/// Of a slot: it is published, or a thread is about to do so.
constexpr std::uint64_t is_taken = std::uint64_t{1} << (reference_bits + use_bits);
/// Nobody but its handle knows the object: it deletes itself when that ends.
constexpr std::uint64_t is_orphan = is_taken << 1U;

constexpr std::uint64_t references_in(std::uint64_t word) noexcept {
  return word & most_references;
}

/// A handle, or a number that claims to be one.
struct HandleWord {
  std::uint64_t bits;

  explicit HandleWord(const void* handle) noexcept : bits(std::bit_cast<std::uint64_t>(handle)) {}
  [[nodiscard]] std::uint64_t place() const noexcept { return bits & ones(place_bits); }
  [[nodiscard]] std::uint64_t identity() const noexcept { return (bits >> place_bits) & ones(identity_bits); }
  [[nodiscard]] std::uint64_t kind() const noexcept { return identity() & ones(kind_bits); }
  /// The process and the mark.
  [[nodiscard]] std::uint64_t origin() const noexcept { return bits >> process_shift; }
  [[nodiscard]] bool has_mark() const noexcept { return origin() >> process_bits == handle_mark; }
};

/// A place of the table. It is free while both counts are 0. Who brings them to no reference and one use alone has the
/// object then, until vacate(). Later the place gets its next handle, with the next generation.
class Place {
 public:
  /// `origin`: HandleWord::origin() of its handles.
  Place(std::uint32_t index, std::uint64_t origin) noexcept
      : index_(index), origin_(static_cast<std::uint32_t>(origin)) {}

  /// The place is the caller's, and free.
  void bind(void* object) noexcept { object_ = object; }
  /// Whether it was free, and is the caller's until occupy().
  [[nodiscard]] bool reserve() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    return (word & all_counts) == 0 &&
           word_.compare_exchange_strong(word, word + one_use, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Gives the object its next handle, with one reference. The place is the caller's.
  [[nodiscard]] void* occupy(HandleKind kind) noexcept {
    const std::uint64_t generation = (word_.load(std::memory_order_relaxed) >> (identity_shift + kind_bits)) + 1;
    const std::uint64_t identity = (generation << kind_bits | number_of(kind)) & ones(identity_bits);
    word_.store(identity << identity_shift | one_reference, std::memory_order_release);
    return std::bit_cast<void*>(std::uint64_t{origin_} << process_shift | identity << place_bits | index_);
  }
  [[nodiscard]] bool is_free() const noexcept { return (word_.load(std::memory_order_acquire) & all_counts) == 0; }

  /// Changes the counts and marks of a living handle to what `changed` makes of them. What they were; 0 if the handle
  /// with this identity is dead.
  template <typename Changed>
  std::uint64_t change_living(std::uint64_t identity, Changed&& changed) noexcept {
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (before >> identity_shift == identity && references_in(before) != 0) {
      if (word_.compare_exchange_weak(before, changed(before), std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return before;
      }
    }
    return 0;
  }
  /// The identity of its handle, living or dead.
  [[nodiscard]] std::uint64_t identity() const noexcept {
    return word_.load(std::memory_order_relaxed) >> identity_shift;
  }

  /// Ends a use, and removes `unmarked` from the marks. True if it was the last of all: the caller has the object.
  [[nodiscard]] bool end_use(std::uint64_t unmarked) noexcept {
    std::uint64_t before = word_.load(std::memory_order_acquire);
    while ((before & all_counts) != one_use) {
      const std::uint64_t after = (before & ~unmarked) - one_use;
      if (word_.compare_exchange_weak(before, after, std::memory_order_release, std::memory_order_acquire)) {
        return false;
      }
    }
    return true;
  }
  /// Marks a living object. False: it is free. Waits for who ends it at this moment.
  [[nodiscard]] bool make_orphan() noexcept;
  /// For who has the object: nobody marks it any more.
  [[nodiscard]] bool has_orphan() const noexcept { return (word_.load(std::memory_order_relaxed) & is_orphan) != 0; }
  /// The caller has the object, and does not touch the place any more.
  void vacate() noexcept {
    const std::uint64_t identity = word_.load(std::memory_order_relaxed) >> identity_shift;
    word_.store(identity << identity_shift, std::memory_order_release);
  }

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// For those who use the object.
  [[nodiscard]] void* object() const noexcept { return object_; }

 private:
  const std::uint32_t index_;
  const std::uint32_t origin_;
  void* object_ = nullptr;
  std::atomic<std::uint64_t> word_ = 0;
};

/// Places never move and never go, so that to look one up needs no lock.
class Table {
 public:
  explicit Table(std::uint64_t process) noexcept
      : process_(process & ones(process_bits)), origin_(handle_mark << process_bits | process_) {}

  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }
  /// HandleWord::origin() of this process's handles.
  [[nodiscard]] std::uint64_t origin() const noexcept { return origin_; }

  /// Null for a number that no place has had yet.
  [[nodiscard]] Place* at(std::uint64_t index) const noexcept {
    Place* const chunk = chunks_[index / chunk_places].load(std::memory_order_acquire);
    return chunk != nullptr ? chunk + index % chunk_places : nullptr;
  }

  /// A place for this object. Throws Failure (FW_ERROR_MEMORY) when there are 2^20 already.
  [[nodiscard]] Place& take(void* object);
  /// One that is free.
  void give_back(Place& place) noexcept;

 private:
  static constexpr std::size_t chunk_places = 1024;
  static constexpr std::size_t most_chunks = most_places / chunk_places;

  void add_chunk();

  const std::uint64_t process_;
  const std::uint64_t origin_;
  std::array<std::atomic<Place*>, most_chunks> chunks_{};
  std::mutex mutex_;  // guards what follows
  std::size_t chunk_count_ = 0;
  std::vector<Place*> free_;  // the one to take next last
};

/// Null before the first use. Never destroyed: threads of the program may call the library while it ends.
extern std::atomic<Table*> table_of_process;
Table& make_table();

inline Table& the_table() {
  Table* const table = table_of_process.load(std::memory_order_acquire);
  return table != nullptr ? *table : make_table();
}

/// A place, and what its word was before it was changed.
struct Changed {
  Place* place = nullptr;  // null: the handle is wrong, and nothing was changed
  std::uint64_t before = 0;
};

/// Changes the counts and marks of the handle's object, which has this kind, to what `changed` makes of them.
template <typename Change>
[[gnu::always_inline]] inline Changed change_living(const void* handle, HandleKind kind, Change&& changed) noexcept {
  const Table& all = the_table();
  const HandleWord word(handle);
  if (word.origin() != all.origin() || word.kind() != number_of(kind)) {
    return {};
  }
  Place* const place = all.at(word.place());
  const std::uint64_t before = place != nullptr ? place->change_living(word.identity(), changed) : 0;
  return {before != 0 ? place : nullptr, before};
}

/// Throws Failure (FW_ERROR_ARGUMENT, FW_ERROR_FORKED) that begins with `function`, and says what the handle is.
[[noreturn, gnu::cold]] void refuse(const void* handle, HandleKind kind, const char* function);
/// Throws Failure as refuse(), and (FW_ERROR_STATE) when there are 2^18 - 1 references.
void add_reference(const void* handle, HandleKind kind, const char* function);

}  // namespace handles

/// An object that a call uses: it does not end meanwhile, also if its handle does. Move-only.
template <typename Object>
class InUse {
 public:
  InUse() = default;
  /// The caller has begun a use. `unmarked`: the marks that its end removes.
  InUse(handles::Place* place, std::uint64_t unmarked) noexcept : place_(place), unmarked_(unmarked) {}
  InUse(InUse&& other) noexcept : place_(std::exchange(other.place_, nullptr)), unmarked_(other.unmarked_) {}
  InUse& operator=(InUse&&) = delete;
  ~InUse() {
    if (place_ != nullptr && place_->end_use(unmarked_)) {
      static_cast<Object*>(place_->object())->ended(*place_);
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return place_ != nullptr; }
  Object& operator*() const noexcept { return *static_cast<Object*>(place_->object()); }
  Object* operator->() const noexcept { return &**this; }
  /// Whether this use has set the mark that it asked for, which its end removes again unless it keeps it.
  [[nodiscard]] bool has_marked() const noexcept { return unmarked_ != 0; }
  void keep_mark() noexcept { unmarked_ = 0; }

 private:
  handles::Place* place_ = nullptr;
  std::uint64_t unmarked_ = 0;
};

/// Throws Failure as handles::refuse(). `mark`: is set, unless it was before.
template <typename Object>
[[gnu::always_inline]] inline InUse<Object> find_object(const typename HandleOf<Object>::type* handle,
                                                        const char* function, std::uint64_t mark = 0) {
  constexpr HandleKind kind = HandleOf<Object>::kind;
  const auto [place, before] =
      handles::change_living(handle, kind, [mark](std::uint64_t word) { return (word + handles::one_use) | mark; });
  if (place == nullptr) {
    handles::refuse(handle, kind, function);
  }
  return {place, mark & ~before};
}

/// The object at this place, if its handle lives.
template <typename Object>
InUse<Object> object_at(handles::Place& place) noexcept {
  const auto use = [](std::uint64_t word) { return word + handles::one_use; };
  return {place.change_living(place.identity(), use) != 0 ? &place : nullptr, 0};
}

/// Ends a reference. The object when it was the last one; else nothing, also for a wrong handle: to end one never
/// fails.
template <typename Object>
InUse<Object> end_handle(const typename HandleOf<Object>::type* handle) noexcept {
  const auto [place, before] = handles::change_living(handle, HandleOf<Object>::kind, [](std::uint64_t word) {
    const std::uint64_t less = word - handles::one_reference;
    return handles::references_in(less) == 0 ? less + handles::one_use : less;  // the caller's use
  });
  return {place != nullptr && handles::references_in(before) == 1 ? place : nullptr, 0};
}

/// The object's handle, in a place of the table that it takes. Throws Failure (FW_ERROR_MEMORY).
template <typename Object>
typename HandleOf<Object>::type* make_handle(Object* object) {
  return static_cast<typename HandleOf<Object>::type*>(
      handles::the_table().take(object).occupy(HandleOf<Object>::kind));
}

}  // namespace framewire
