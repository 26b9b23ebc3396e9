#version 450 core
// Covers the viewport with one larger triangle, without a vertex buffer. Passes on all per-frame values as flat
// outputs: software renderers check the bounds of every uniform for every pixel, which would cost more than the
// conversion.

uniform mat3 colour_matrix;  // texel to RGB, see gl/colour_conversion.hpp
uniform vec3 colour_offset;
uniform vec4 place;          // viewport (0 … 1 from the bottom) to frame (0 … 1 from the top left): scale, offset
uniform vec4 chroma_place;   // frame to chroma texture: scale, offset
uniform ivec2 chroma_shift;  // log2 of the luma samples per chroma sample
uniform ivec2 chroma_site;   // 0: chroma at the first luma sample, 1: between both, 2: at the last

out vec2 frame_position;
out vec2 chroma_position;
flat out vec3 of_first;  // contribution of each texel component to R, G, B
flat out vec3 of_second;
flat out vec3 of_third;
flat out vec3 of_none;
flat out ivec2 shift;
flat out ivec2 site;

void main() {
  vec2 corner = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2);
  gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
  frame_position = corner * place.xy + place.zw;
  chroma_position = frame_position * chroma_place.xy + chroma_place.zw;
  of_first = colour_matrix[0];
  of_second = colour_matrix[1];
  of_third = colour_matrix[2];
  of_none = colour_offset;
  shift = chroma_shift;
  site = chroma_site;
}
