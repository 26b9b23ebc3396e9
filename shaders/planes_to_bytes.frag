#version 450 core
// Copies a picture of two planes (nv12, p010le) without loss to where its bytes are in memory. Each output pixel is four
// bytes in memory order. Row 0 is the first in memory. Numbers of 16 bits have their low byte first.

layout(location = 0) out vec4 bytes;

layout(binding = 0) uniform sampler2D luma;
layout(binding = 1) uniform sampler2D chroma;
uniform uint first_pixel;      // of the whole picture, in this target
uniform uint target_width;     // pixels
uniform uint component_bytes;  // 1 or 2
uniform uvec4 wanted[2];       // of each plane: first column, first row, columns, rows

float byte_of(float number, uint which) {
  if (component_bytes == 1u) {
    return number;
  }
  uint whole = uint(number * 65535.0 + 0.5);
  return float(which == 0u ? whole & 255u : whole >> 8) / 255.0;
}

float byte_at(uint at) {
  uint luma_bytes = wanted[0].z * wanted[0].w * component_bytes;
  uint which = at % component_bytes;
  if (at < luma_bytes) {
    uint texel = at / component_bytes;
    uvec2 place = wanted[0].xy + uvec2(texel % wanted[0].z, texel / wanted[0].z);
    return byte_of(texelFetch(luma, ivec2(place), 0).r, which);
  }
  uint number = (at - luma_bytes) / component_bytes;
  uint texel = number / 2u;
  if (texel >= wanted[1].z * wanted[1].w) {
    return 0.0;  // behind the picture
  }
  uvec2 place = wanted[1].xy + uvec2(texel % wanted[1].z, texel / wanted[1].z);
  vec4 pair = texelFetch(chroma, ivec2(place), 0);
  return byte_of(number % 2u == 0u ? pair.r : pair.g, which);
}

void main() {
  uvec2 pixel = uvec2(gl_FragCoord.xy);
  uint at = 4u * (first_pixel + pixel.y * target_width + pixel.x);
  bytes = vec4(byte_at(at), byte_at(at + 1u), byte_at(at + 2u), byte_at(at + 3u));
}
