// Handles: numbers that stand for objects, so that a wrong one is found and never followed.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "library/include/framewire/framewire.h"

namespace framewire {

enum class HandleKind : std::uint8_t { none, sender, stream, slot, receiver, frame };

class Sender;
class SourceStream;
class Slot;
class Receiver;
class Frame;

/// The kind and the C name of each type of object.
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
/// make and to give back a place. After fork() the child has a new, empty one; its parent's handles are told by a
/// number that counts forks. Its first use prepares for that.
namespace handles {

class Place;

/// Keeps an object from its end while a call uses it, also if its handle is ended meanwhile. Move-only.
class Use {
 public:
  Use() = default;
  Use(Use&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
  Use& operator=(Use&&) = delete;
  ~Use();

  [[nodiscard]] explicit operator bool() const noexcept { return place_ != nullptr; }
  [[nodiscard]] void* object() const noexcept;

 private:
  friend Use find(const void* handle, HandleKind kind, std::string_view function);
  friend Use end_reference(const void* handle, HandleKind kind) noexcept;
  explicit Use(Place* place) noexcept : place_(place) {}

  Place* place_ = nullptr;
};

/// Returns a handle with one reference. Throws Failure (FW_ERROR_MEMORY) when there are 2^20 already.
void* add(HandleKind kind, std::shared_ptr<void> object);
/// Throws Failure (FW_ERROR_ARGUMENT, FW_ERROR_FORKED) that begins with `function`, and says what the handle is.
Use find(const void* handle, HandleKind kind, std::string_view function);
/// The same. Throws Failure (FW_ERROR_STATE) also when there are 2^18 - 1 references.
void add_reference(const void* handle, HandleKind kind, std::string_view function);
/// Ends a reference. The object when it was the last one; else nothing, also for a wrong handle: to end one never
/// fails.
Use end_reference(const void* handle, HandleKind kind) noexcept;

}  // namespace handles

template <typename Object>
typename HandleOf<Object>::type* make_handle(std::shared_ptr<Object> object) {
  return static_cast<typename HandleOf<Object>::type*>(handles::add(HandleOf<Object>::kind, std::move(object)));
}

/// An object that a call uses.
template <typename Object>
class InUse {
 public:
  explicit InUse(handles::Use use) noexcept : use_(std::move(use)) {}
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(use_); }
  Object& operator*() const noexcept { return *static_cast<Object*>(use_.object()); }
  Object* operator->() const noexcept { return &**this; }

 private:
  handles::Use use_;
};

template <typename Object>
InUse<Object> find_object(const typename HandleOf<Object>::type* handle, std::string_view function) {
  return InUse<Object>(handles::find(handle, HandleOf<Object>::kind, function));
}

template <typename Object>
InUse<Object> end_handle(const typename HandleOf<Object>::type* handle) noexcept {
  return InUse<Object>(handles::end_reference(handle, HandleOf<Object>::kind));
}

}  // namespace framewire
