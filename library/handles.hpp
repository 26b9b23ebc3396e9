// Handles: numbers that stand for objects, so that a wrong one is found and never followed.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

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

/// The table of this process's handles, with a count of references for each. Any thread. After fork() the child has a
/// new, empty one; its parent's handles are told by a number that counts forks. Its first use prepares for that.
namespace handles {

/// Returns a handle with one reference. Throws Failure (FW_ERROR_MEMORY) when there are 2^24 already.
void* add(HandleKind kind, std::shared_ptr<void> object);
/// Throws Failure (FW_ERROR_ARGUMENT, FW_ERROR_FORKED) that begins with `function`, and says what the handle is.
std::shared_ptr<void> find(const void* handle, HandleKind kind, std::string_view function);
void add_reference(const void* handle, HandleKind kind, std::string_view function);
/// Ends a reference. The object when it was the last one; else null, also for a wrong handle: to end one never fails.
std::shared_ptr<void> end_reference(const void* handle, HandleKind kind) noexcept;

}  // namespace handles

template <typename Object>
typename HandleOf<Object>::type* make_handle(std::shared_ptr<Object> object) {
  return static_cast<typename HandleOf<Object>::type*>(handles::add(HandleOf<Object>::kind, std::move(object)));
}

template <typename Object>
std::shared_ptr<Object> find_object(const typename HandleOf<Object>::type* handle, std::string_view function) {
  return std::static_pointer_cast<Object>(handles::find(handle, HandleOf<Object>::kind, function));
}

}  // namespace framewire
