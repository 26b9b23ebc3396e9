#version 450 core
// Covers the viewport with one larger triangle, as frame.vert does.

uniform vec2 size;         // of the viewport, in pixels
uniform vec2 first_texel;  // which is drawn at the viewport's lower left corner
uniform float opacity;
uniform float white;       // 1: lays the picture on white first

out vec2 position;  // in texels
flat out float strength;
flat out float whiteness;

void main() {
  vec2 corner = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2);
  gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
  position = first_texel + corner * size;
  strength = opacity;
  whiteness = white;
}
