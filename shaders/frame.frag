// Converts a frame's planes to RGB. gl/frame_painter.cpp inserts #version and definitions before this text:
//   PLANES  1: RGB or gray, 2: luma and interleaved chroma, 3: luma, U and V
//   MODE    0: one pixel of the frame per pixel drawn, read without filtering
//           1: one bilinear sample per pixel
//           2: the mean of what a pixel covers, of TAPS x TAPS bilinear samples, or texels with ALPHA 1
//   ALPHA   0: comes out as 1
//           1: is straight, and the colours come out multiplied by it; only with PLANES 1, and not with MODE 1
//           2: comes out as it is
//   TAPS, CHROMA_TAPS  ivec2; constants, so that the compiler unrolls the loops, which halves the time on llvmpipe; or
//           the uniforms `taps` and `chroma_taps`
//
// Chroma is sited by `site` and interpolated linearly. The colour matrix is linear too, so filtering comes first and
// one matrix product is enough.
//
// Straight colours are multiplied texel by texel, before the mean. That takes as many reads of memory as bilinear samples
// do, no second texture, and no rounding in between, which a pass at the frame's size would need.

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

#if ALPHA == 1

vec4 multiplied(vec4 texel) {
  return vec4(texel.rgb * texel.a, texel.a);
}

// Colours of limited range may be brighter than white. Opaque ones are clipped at 1, and so these at their alpha.
vec4 to_rgb(vec4 texel) {
  vec3 rgb = of_first * texel.r + of_second * texel.g + of_third * texel.b + of_none * texel.a;
  return vec4(min(rgb, vec3(texel.a)), texel.a);
}

#else

vec4 multiplied(vec4 texel) {
  return texel;
}

vec4 to_rgb(vec4 texel) {
  vec3 rgb = of_first * texel.r + of_second * texel.g + of_third * texel.b + of_none;
#if ALPHA == 0
  return vec4(rgb, 1.0);
#else
  return vec4(rgb, texel.a);
#endif
}

#endif

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
  vec4 texel = multiplied(texelFetch(plane0, pixel, 0));
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

uniform vec2 covered;  // by one drawn pixel, in texels
uniform vec2 chroma_covered;
uniform ivec2 taps;
uniform ivec2 chroma_taps;

// What is read at once on one axis.
struct Tap {
  float position;  // in texels
  float weight;    // how much of it lies between `from` and `to`
};

#if ALPHA == 1

const int texels_per_tap = 1;

Tap tap_at(float texel, float from, float to) {
  return Tap(texel, clamp(min(texel + 1.0, to) - max(texel, from), 0.0, 1.0));
}

// Texels beyond the edge have the weight 0.
vec4 read(sampler2D plane, vec2 position, vec2 size) {
  return multiplied(texelFetch(plane, ivec2(min(position, size - 1.0)), 0));
}

#else

const int texels_per_tap = 2;

// Texel `texel` and the next one, as one bilinear sample between them.
Tap tap_at(float texel, float from, float to) {
  float first = clamp(min(texel + 1.0, to) - max(texel, from), 0.0, 1.0);
  float second = clamp(to - (texel + 1.0), 0.0, 1.0);
  return Tap(texel + 0.5 + second / max(first + second, 1e-6), first + second);
}

vec4 read(sampler2D plane, vec2 position, vec2 size) {
  return texture(plane, position / size);
}

#endif

// The mean of the texels that a drawn pixel at `at` covers, by the area that it covers of each. An axis on which it
// covers less than one texel is enlarged: the mean over the length of one texel is linear interpolation.
vec4 mean(sampler2D plane, vec2 at, vec2 size_texels, ivec2 count) {
  // Less than this part of a texel does not count: positions are not exact, and at whole ratios it saves a sample.
  const float negligible = 0.002;
  vec2 size = vec2(textureSize(plane, 0));
  vec2 half_length = 0.5 * max(size_texels, vec2(1.0));
  vec2 from = max(at * size - half_length, vec2(0.0));
  vec2 to = min(at * size + half_length, size);
  vec2 first = floor(from + negligible);
  vec4 sum = vec4(0.0);
  for (int j = 0; j < count.y; ++j) {
    Tap row = tap_at(first.y + float(texels_per_tap * j), from.y, to.y);
    vec4 row_sum = vec4(0.0);
    for (int i = 0; i < count.x; ++i) {
      Tap column = tap_at(first.x + float(texels_per_tap * i), from.x, to.x);
      row_sum += column.weight * read(plane, vec2(column.position, row.position), size);
    }
    sum += row.weight * row_sum;
  }
  return sum / ((to.x - from.x) * (to.y - from.y));
}

void main() {
  vec4 texel = mean(plane0, frame_position, covered, TAPS);
#if PLANES == 2
  texel = vec4(texel.r, mean(plane1, chroma_position, chroma_covered, CHROMA_TAPS).rg, 1.0);
#elif PLANES == 3
  texel = vec4(texel.r, mean(plane1, chroma_position, chroma_covered, CHROMA_TAPS).r,
               mean(plane2, chroma_position, chroma_covered, CHROMA_TAPS).r, 1.0);
#endif
  colour = to_rgb(texel);
}

#endif
#endif
