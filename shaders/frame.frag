// Converts a frame's planes to RGB. gl/frame_painter.cpp inserts #version and two definitions before this text:
//   PLANES  1: RGB or gray, 2: luma and interleaved chroma, 3: luma, U and V
//   MODE    0: one pixel of the frame per pixel drawn, read without filtering
//           1: scaled, one bilinear sample per pixel
//           2: scaled down, the mean of several samples per pixel
//
// Chroma is sited by `site` and interpolated linearly. The colour matrix is linear too, so filtering comes first and
// one matrix product is enough.

layout(binding = 0) uniform sampler2D plane0;
layout(binding = 1) uniform sampler2D plane1;
layout(binding = 2) uniform sampler2D plane2;

in vec2 frame_position;
in vec2 chroma_position;
flat in vec3 of_first;
flat in vec3 of_second;
flat in vec3 of_third;
flat in vec3 of_none;
flat in ivec2 shift;
flat in ivec2 site;

out vec4 colour;

vec4 to_rgb(vec4 texel) {
  return vec4(of_first * texel.r + of_second * texel.g + of_third * texel.b + of_none, texel.a);
}

#if MODE == 0

#if PLANES > 1
vec4 chroma_texel(ivec2 at) {
#if PLANES == 2
  return texelFetch(plane1, at, 0);
#else
  return vec4(texelFetch(plane1, at, 0).r, texelFetch(plane2, at, 0).r, 0.0, 0.0);
#endif
}

vec2 chroma_at(ivec2 pixel) {
  if (shift == ivec2(0)) {
    return chroma_texel(pixel).rg;
  }
  // The pixel's position in chroma samples, in quarters. On an axis without subsampling all positions are whole
  // samples.
  ivec2 quarters = ivec2(shift.x == 0 ? 4 * pixel.x : 2 * pixel.x - site.x, shift.y == 0 ? 4 * pixel.y : 2 * pixel.y - site.y);
  // The corner between the four texels: there, rounding cannot change the choice of texels.
  vec2 corner = vec2((quarters >> 2) + 1) / vec2(textureSize(plane1, 0));
  vec2 part = 0.25 * vec2(quarters & 3);
#if PLANES == 2
  vec4 u = textureGather(plane1, corner, 0);
  vec4 v = textureGather(plane1, corner, 1);
#else
  vec4 u = textureGather(plane1, corner);
  vec4 v = textureGather(plane2, corner);
#endif
  // In textureGather's order: lower left, lower right, upper right, upper left.
  vec2 rest = 1.0 - part;
  vec4 weights = vec4(rest.x * part.y, part.x * part.y, part.x * rest.y, rest.x * rest.y);
  return vec2(dot(u, weights), dot(v, weights));
}
#endif

void main() {
  // Not from gl_FragCoord: Mesa 22.3 turns it over in a framebuffer object to which a program drew after the window.
  // The interpolated position is in the middle of a pixel, so rounding does not move it to another one.
  ivec2 pixel = ivec2(frame_position * vec2(textureSize(plane0, 0)));
  vec4 texel = texelFetch(plane0, pixel, 0);
#if PLANES > 1
  texel = vec4(texel.r, chroma_at(pixel), 1.0);
#endif
  colour = to_rgb(texel);
}

#else

vec2 chroma_sample(vec2 at) {
#if PLANES == 2
  return texture(plane1, at).rg;
#else
  return vec2(texture(plane1, at).r, texture(plane2, at).r);
#endif
}

#if MODE == 1

void main() {
  vec4 texel = texture(plane0, frame_position);
#if PLANES > 1
  texel = vec4(texel.r, chroma_sample(chroma_position), 1.0);
#endif
  colour = to_rgb(texel);
}

#else

uniform vec4 footprint;     // size of one drawn pixel in the frame and in the chroma texture
uniform ivec2 taps;         // samples per drawn pixel
uniform ivec2 chroma_taps;

void main() {
  vec2 each = footprint.xy / vec2(taps);
  vec2 start = frame_position - 0.5 * footprint.xy + 0.5 * each;
  vec4 texel = vec4(0.0);
  for (int y = 0; y < taps.y; ++y) {
    for (int x = 0; x < taps.x; ++x) {
      texel += texture(plane0, start + each * vec2(x, y));
    }
  }
  texel /= float(taps.x * taps.y);
#if PLANES > 1
  each = footprint.zw / vec2(chroma_taps);
  start = chroma_position - 0.5 * footprint.zw + 0.5 * each;
  vec2 chroma = vec2(0.0);
  for (int y = 0; y < chroma_taps.y; ++y) {
    for (int x = 0; x < chroma_taps.x; ++x) {
      chroma += chroma_sample(start + each * vec2(x, y));
    }
  }
  texel = vec4(texel.r, chroma / float(chroma_taps.x * chroma_taps.y), 1.0);
#endif
  colour = to_rgb(texel);
}

#endif
#endif
