#version 450 core
// Converts a rendered picture to packed NV12 or YUV420P: BT.709 (ITU-R BT.709-6, §3), limited range. Each output pixel
// is four bytes of the frame in memory order, so the target has a quarter of the width and one and a half times the
// height. Row 0 is the top row of both the picture and the memory. Chroma is sited as in MPEG-2 and H.264: horizontally
// at every second luma sample, vertically half way between two.

layout(location = 0) out vec4 bytes;

layout(binding = 0) uniform sampler2D picture;
uniform bool planar;  // YUV420P; otherwise NV12

const vec3 luma = vec3(0.2126, 0.7152, 0.0722);

float y_at(int x, int y) {
  return (16.0 + 219.0 * dot(texelFetch(picture, ivec2(x, y), 0).rgb, luma)) / 255.0;
}

vec3 pair(ivec2 at) {
  return texelFetch(picture, at, 0).rgb + texelFetch(picture, at + ivec2(0, 1), 0).rgb;
}

// U and V of chroma sample `at`.
vec2 uv_at(ivec2 at) {
  ivec2 centre = 2 * at;
  int right = min(centre.x + 1, textureSize(picture, 0).x - 1);
  int left = max(centre.x - 1, 0);
  vec3 rgb = (pair(ivec2(left, centre.y)) + 2.0 * pair(centre) + pair(ivec2(right, centre.y))) / 8.0;
  vec2 difference = (rgb.br - dot(rgb, luma)) / (2.0 * (1.0 - luma.br));
  return (128.0 + 224.0 * difference) / 255.0;
}

// Four bytes of the U or V plane. The planes follow each other; two of their rows make one output row.
vec4 plane_bytes(int at, ivec2 size) {
  int plane_size = size.x / 2 * (size.y / 2);
  int component = at < plane_size ? 0 : 1;
  int rest = at - component * plane_size;
  ivec2 first = ivec2(rest % (size.x / 2), rest / (size.x / 2));
  vec4 four;
  for (int i = 0; i < 4; ++i) {
    vec2 uv = uv_at(first + ivec2(i, 0));
    four[i] = component == 0 ? uv.x : uv.y;
  }
  return four;
}

void main() {
  ivec2 size = textureSize(picture, 0);
  ivec2 at = ivec2(gl_FragCoord.xy);
  int x = 4 * at.x;
  if (at.y < size.y) {
    bytes = vec4(y_at(x, at.y), y_at(x + 1, at.y), y_at(x + 2, at.y), y_at(x + 3, at.y));
  } else if (planar) {
    bytes = plane_bytes((at.y - size.y) * size.x + x, size);
  } else {
    bytes = vec4(uv_at(ivec2(x / 2, at.y - size.y)), uv_at(ivec2(x / 2 + 1, at.y - size.y)));
  }
}
