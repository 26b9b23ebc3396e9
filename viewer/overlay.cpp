#include "viewer/overlay.hpp"

#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string>

namespace framewire {

namespace {

constexpr float text_pixels = 17;
constexpr float title_pixels = 52;
constexpr float lines_of_scale_1 = 720;

/// Where distributions install a plain sans-serif font. All are optional: ImGui has a small built-in font.
constexpr std::array font_files = {
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
    "/usr/share/fonts/truetype/liberation2/LiberationSans-Regular.ttf",
    "/usr/share/fonts/truetype/ubuntu/Ubuntu-R.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
};

/// Tests each file first, because ImGui ends the program if it cannot open one, even for lack of descriptors.
const char* find_font() {
  for (const char* file : font_files) {
    if (std::ifstream(file).get() != std::ifstream::traits_type::eof()) {
      return file;
    }
  }
  return nullptr;
}

/// Basic Latin and Latin-1, and general punctuation (dashes, the ellipsis).
constexpr std::array<ImWchar, 5> glyphs = {0x20, 0xff, 0x2010, 0x2026, 0};

ImFont* add_built_in_font(ImFontAtlas& atlas, float pixels) {
  ImFontConfig config;
  config.SizePixels = std::max(13.0F, std::floor(pixels / 13) * 13);  // a bitmap font, sharp at multiples of its size
  return atlas.AddFontDefault(&config);
}

void set_style() {
  ImGui::StyleColorsDark();
  ImGuiStyle& style = ImGui::GetStyle();
  style.WindowBorderSize = 0;
  style.AntiAliasedLines = true;
}

}  // namespace

Overlay::Overlay() : context_(ImGui::CreateContext()) {
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  io.DisplaySize = {lines_of_scale_1, lines_of_scale_1};
  set_style();
  is_usable_ = ImGui_ImplOpenGL3_Init("#version 330");
}

Overlay::~Overlay() {
  if (is_usable_) {
    ImGui_ImplOpenGL3_Shutdown();
  }
  ImGui::DestroyContext(context_);
}

void Overlay::load_fonts(float scale) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  const char* file = find_font();
  has_typography_ = file != nullptr;
  if (file != nullptr) {
    text_font_ = atlas.AddFontFromFileTTF(file, std::round(text_pixels * scale), nullptr, glyphs.data());
    title_font_ = atlas.AddFontFromFileTTF(file, std::round(title_pixels * scale), nullptr, glyphs.data());
  } else {
    text_font_ = add_built_in_font(atlas, text_pixels * scale);
    title_font_ = add_built_in_font(atlas, title_pixels * scale);
  }
  ImGui::GetIO().FontDefault = text_font_;
  if (scale_ != 0) {
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
  }
  scale_ = scale;
}

bool Overlay::begin(Size surface) {
  if (!is_usable_) {
    return false;
  }
  // In steps, so that resizing a window does not create new fonts for every pixel.
  const float exact = static_cast<float>(std::min(surface.height, surface.width * 3 / 4)) / lines_of_scale_1;
  const float scale = std::clamp(std::round(exact * 4) / 4, 0.75F, 4.0F);
  if (scale != scale_) {
    load_fonts(scale);
  }
  ImGui::GetIO().DisplaySize = {static_cast<float>(surface.width), static_cast<float>(surface.height)};
  ImGui::GetIO().DeltaTime = 1.0F / 60;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  return true;
}

void Overlay::finish() {
  ImGui::Render();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

}  // namespace framewire
