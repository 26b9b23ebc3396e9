// A viewer that says which slices its link has got.
#pragma once

#include <vector>

#include "tests/transport/attached_viewer.hpp"

namespace framewire::test {

using SliceNumbers = std::vector<int>;

/// A viewer over a link that counts.
class SliceViewer : public AttachedViewer {
 public:
  SliceViewer(Stream& stream, Delivery delivery, bool takes_slices, bool takes_any_memory = false)
      : AttachedViewer(stream, delivery, takes_any_memory), takes_slices_(takes_slices) {
    get_ready();
  }

  bool get_ready() { return AttachedViewer::get_ready(takes_slices_); }
  /// The link sends everything, and the viewer releases it.
  void release_all() {
    for (std::size_t i = 0; i < link.sent.size(); ++i) {
      if (link.is_last[i]) {
        link.done.push_back(link.sent[i]);
      }
    }
    link.sent.clear();
    link.is_last.clear();
    make_progress();
  }
  /// The slices that the link has got, by their numbers; -1 for a whole frame and -2 for the end of an aborted one.
  [[nodiscard]] SliceNumbers got() const {
    SliceNumbers numbers;
    for (const FrameHeader& header : link.headers) {
      numbers.push_back(header.is_aborted ? -2 : header.slice_count == 1 ? -1 : int{header.slice});
    }
    return numbers;
  }

 private:
  const bool takes_slices_;
};

}  // namespace framewire::test
