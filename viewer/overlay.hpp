// Text and shapes over the picture.
#pragma once

#include "base/text.hpp"

struct ImGuiContext;
struct ImFont;

namespace framewire {

/// Draws with Dear ImGui into the bound framebuffer, without input or windows. Needs the GL context that was current at
/// construction. If ImGui cannot be set up, all functions do nothing and pictures have no text. At most one at a time
/// (ImGui keeps its context in a global).
class Overlay {
 public:
  Overlay();
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;
  ~Overlay();

  /// ImGui's functions may be called between begin() and finish(), if begin() returns true. Sizes follow the surface:
  /// scale() is 1 for 720 lines.
  bool begin(Size surface);
  void finish();

  [[nodiscard]] float scale() const noexcept { return scale_; }
  [[nodiscard]] ImFont* text_font() const noexcept { return text_font_; }
  [[nodiscard]] ImFont* title_font() const noexcept { return title_font_; }
  /// Whether the font has "…" and "·".
  [[nodiscard]] bool has_typography() const noexcept { return has_typography_; }

 private:
  void load_fonts(float scale);

  ImGuiContext* context_ = nullptr;
  bool is_usable_ = false;
  float scale_ = 0;
  ImFont* text_font_ = nullptr;
  ImFont* title_font_ = nullptr;
  bool has_typography_ = false;
};

}  // namespace framewire
