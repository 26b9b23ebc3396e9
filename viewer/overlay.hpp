// Text and shapes over the picture.
#pragma once

#include "base/text.hpp"

struct ImGuiContext;
struct ImFont;

namespace framewire {

/// Dear ImGui drawing into whatever framebuffer is bound: no input, no windows of its own. Needs the GL context that
/// was current when it was made. Where ImGui cannot be set up, everything here does nothing, and pictures come without
/// text. One at a time (ImGui keeps its context in a global).
class Overlay {
 public:
  Overlay();
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;
  ~Overlay();

  /// Between begin() and finish() ImGui's functions may be called; begin() returns whether they may. Sizes follow the
  /// surface: scale() is 1 for 720 lines.
  bool begin(Size surface);
  void finish();

  [[nodiscard]] float scale() const noexcept { return scale_; }
  [[nodiscard]] ImFont* text_font() const noexcept { return text_font_; }
  [[nodiscard]] ImFont* title_font() const noexcept { return title_font_; }
  /// Whether the font has more than ASCII: "…" and "·".
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
