#version 450 core
// The frame counter of gl: scenes: characters of 8 x 8 dots on a translucent plate with round corners. Drawn with
// blending and flipped like the scene below it: row 0 is the picture's top row. gl/counter_text.hpp
// defines the position.

layout(location = 0) out vec4 colour;

uniform uvec2 dots[40];  // of each character, as in counter_text.hpp, low half first
uniform int characters;
uniform ivec2 start;     // the first character's top left, in pixels
uniform int scale;       // pixels per dot

void main() {
  ivec2 at = ivec2(gl_FragCoord.xy) - start;
  ivec2 extent = ivec2(characters * 8 - 1, 7) * scale;
  // Distance to the text's rectangle. The plate covers everything within four dots of it.
  vec2 outside = max(max(vec2(-at), vec2(at - extent)), 0.0);
  float plate = clamp(4.0 * float(scale) + 0.5 - length(outside), 0.0, 1.0);
  ivec2 dot_at = at / scale;
  bool lit = false;
  if (all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, ivec2(characters * 8, 8) * scale))) {
    uint word = (dot_at.y & 4) == 0 ? dots[dot_at.x >> 3].x : dots[dot_at.x >> 3].y;
    lit = ((word >> uint((dot_at.y & 3) * 8 + (dot_at.x & 7))) & 1u) == 1u;
  }
  colour = lit ? vec4(0.97, 0.98, 1.0, 1.0) : vec4(0.02, 0.03, 0.05, 0.62 * plate);
}
