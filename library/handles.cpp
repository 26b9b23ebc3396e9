#include "library/handles.hpp"

#include <pthread.h>

#include <string>
#include <string_view>
#include <thread>

#include "base/file_descriptor.hpp"
#include "library/failure.hpp"

namespace framewire::handles {

namespace {

std::string_view name_of(std::uint64_t kind) noexcept {
  constexpr std::array<std::string_view, 6> names{"nothing", "sender", "stream", "slot", "receiver", "frame"};
  return kind < names.size() ? names.at(kind) : "unknown handle";
}

/// The parent's objects are left as they are: their threads do not exist here, and their memory is the parent's, too.
void after_fork_in_child() {
  table_of_process = new Table(the_table().process() + 1);  // glibc's malloc works here
}

}  // namespace

std::atomic<Table*> table_of_process = nullptr;

// ---- Places ----

bool Place::make_orphan() noexcept {
  for (std::uint64_t word = word_.load(std::memory_order_acquire); (word & all_counts) != 0;) {
    if (references_in(word) == 0) {
      std::this_thread::yield();
      word = word_.load(std::memory_order_acquire);
    } else if (word_.compare_exchange_weak(word, word | is_orphan, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

// ---- The table ----

Table& make_table() {
  [[maybe_unused]] static const bool is_prepared = [] {
    table_of_process = new Table(0);
    return prepare_for_fork(after_fork_in_child);
  }();
  return *table_of_process.load();
}

Place& Table::take(void* object) {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) {
    add_chunk();
  }
  Place& place = *free_.back();
  free_.pop_back();
  place.bind(object);
  return place;
}

void Table::give_back(Place& place) noexcept {
  const std::scoped_lock lock(mutex_);
  free_.push_back(&place);
}

void Table::add_chunk() {
  if (chunk_count_ == most_chunks) {
    throw Failure(FW_ERROR_MEMORY, "this process has a million handles of framewire; end some");
  }
  free_.reserve((chunk_count_ + 1) * chunk_places);  // so that to end a handle needs no memory
  const auto first = static_cast<std::uint32_t>(chunk_count_ * chunk_places);
  auto* const chunk = std::allocator<Place>().allocate(chunk_places);
  for (std::uint32_t i = chunk_places; i-- > 0;) {
    free_.push_back(std::construct_at(chunk + i, first + i, origin_));
  }
  chunks_[chunk_count_++].store(chunk, std::memory_order_release);
}

// ---- Handles ----

void refuse(const void* handle, HandleKind kind, const char* function) {
  const HandleWord word(handle);
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

void add_reference(const void* handle, HandleKind kind, const char* function) {
  const auto refer_once_more = [](std::uint64_t word) {
    return references_in(word) < most_references ? word + one_reference : word;
  };
  const Changed changed = change_living(handle, kind, refer_once_more);
  if (changed.place == nullptr) {
    refuse(handle, kind, function);
  }
  if (references_in(changed.before) == most_references) {
    throw Failure(FW_ERROR_STATE, std::string(function) + "(): there are 262,143 references already");
  }
}

}  // namespace framewire::handles
