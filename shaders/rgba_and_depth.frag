#version 450 core
// Packs a rendered picture and its depths as rgba+grayf32le: first the rows of the colours, then those of the depths,
// four bytes of the frame for each output pixel. Row 0 is the top row of both, as in memory.

layout(location = 0) out vec4 bytes;

layout(binding = 0) uniform sampler2D picture;
layout(binding = 1) uniform sampler2D depth;

void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  int height = textureSize(picture, 0).y;
  if (at.y < height) {
    bytes = texelFetch(picture, at, 0);
  } else {
    uint bits = floatBitsToUint(texelFetch(depth, at - ivec2(0, height), 0).r);
    bytes = vec4((uvec4(bits) >> uvec4(0u, 8u, 16u, 24u)) & 255u) / 255.0;
  }
}
