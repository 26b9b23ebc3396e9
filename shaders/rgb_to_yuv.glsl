// Converts a rendered picture to packed YUV: BT.709 (ITU-R BT.709-6, §3), limited range. gl/scene_renderer.cpp inserts
// #version and definitions before this text:
//   COMPUTED     1: a compute shader, which writes into a buffer, 0: a fragment shader, for glReadPixels
//   BITS         of a component: 8, which take one byte, or 10, which take two, the low one first
//   SHIFT        unused low bits of two bytes
//   PLANAR       1: a plane each of U and V, 0: one of both
//   CHROMA_ROWS  rows of luma for one of chroma: 1 or 2
// Each output pixel is four bytes of the frame in memory order, so an output row is a row of luma. Row 0 is the top row
// of both the picture and the memory. Chroma is sited as in MPEG-2 and H.264: horizontally at every second luma
// sample, vertically half way between two if it has half of the rows.

#if COMPUTED
layout(local_size_x = 32, local_size_y = 4) in;
layout(std430, binding = 0) writeonly restrict buffer Frame {
  uint words[];
};
uniform ivec2 rows;  // the first output row, and the one behind the last
#else
layout(location = 0) out vec4 bytes;
#endif

layout(binding = 0) uniform sampler2D picture;

const vec3 luma = vec3(0.2126, 0.7152, 0.0722);

// COUNT components, in steps of 8 bits, as the four bytes that they take.
#if BITS == 8
const int COUNT = 4;
#define NUMBERS vec4
uvec4 bytes_of(vec4 numbers) {
  return uvec4(numbers + 0.5);
}
#else
const int COUNT = 2;
#define NUMBERS vec2
uvec4 bytes_of(vec2 numbers) {
  uvec2 whole = uvec2(numbers * float(1 << (BITS - 8)) + 0.5) << SHIFT;
  return uvec4(whole.x & 255u, whole.x >> 8, whole.y & 255u, whole.y >> 8);
}
#endif

float y_at(ivec2 at) {
  return 16.0 + 219.0 * dot(texelFetch(picture, at, 0).rgb, luma);
}

// The mean of the rows that a chroma sample covers.
vec3 column(ivec2 at) {
#if CHROMA_ROWS == 2
  return 0.5 * (texelFetch(picture, at, 0).rgb + texelFetch(picture, at + ivec2(0, 1), 0).rgb);
#else
  return texelFetch(picture, at, 0).rgb;
#endif
}

// U and V of chroma sample `at`.
vec2 uv_at(ivec2 at) {
  ivec2 centre = at * ivec2(2, CHROMA_ROWS);
  int right = min(centre.x + 1, textureSize(picture, 0).x - 1);
  int left = max(centre.x - 1, 0);
  vec3 rgb = (column(ivec2(left, centre.y)) + 2.0 * column(centre) + column(ivec2(right, centre.y))) / 4.0;
  vec2 difference = (rgb.br - dot(rgb, luma)) / (2.0 * (1.0 - luma.br));
  return 128.0 + 224.0 * difference;
}

// Components of the U or V plane. The planes follow each other; two of their rows make one output row.
NUMBERS plane_numbers(int at, ivec2 size) {
  int plane_size = size.x / 2 * (size.y / CHROMA_ROWS);
  int component = at < plane_size ? 0 : 1;
  int rest = at - component * plane_size;
  ivec2 first = ivec2(rest % (size.x / 2), rest / (size.x / 2));
  NUMBERS numbers;
  for (int i = 0; i < COUNT; ++i) {
    vec2 uv = uv_at(first + ivec2(i, 0));
    numbers[i] = component == 0 ? uv.x : uv.y;
  }
  return numbers;
}

// Components of the plane of both.
NUMBERS pair_numbers(ivec2 at) {
  NUMBERS numbers;
  for (int i = 0; i < COUNT; i += 2) {
    vec2 uv = uv_at(ivec2((at.x + i) / 2, at.y));
    numbers[i] = uv.x;
    numbers[i + 1] = uv.y;
  }
  return numbers;
}

// The four bytes of an output pixel.
uvec4 bytes_at(ivec2 pixel) {
  ivec2 size = textureSize(picture, 0);
  ivec2 at = pixel * ivec2(COUNT, 1);
  NUMBERS numbers;
  if (at.y < size.y) {
    for (int i = 0; i < COUNT; ++i) {
      numbers[i] = y_at(at + ivec2(i, 0));
    }
  } else {
#if PLANAR
    numbers = plane_numbers((at.y - size.y) * size.x + at.x, size);
#else
    numbers = pair_numbers(ivec2(at.x, at.y - size.y));
#endif
  }
  return bytes_of(numbers);
}

void main() {
#if COMPUTED
  ivec2 pixel = ivec2(gl_GlobalInvocationID.xy) + ivec2(0, rows.x);
  int width = textureSize(picture, 0).x / COUNT;
  if (pixel.x < width && pixel.y < rows.y) {
    uvec4 four = bytes_at(pixel) << uvec4(0u, 8u, 16u, 24u);
    words[pixel.y * width + pixel.x] = four.x | four.y | four.z | four.w;
  }
#else
  bytes = vec4(bytes_at(ivec2(gl_FragCoord.xy))) / 255.0;
#endif
}
