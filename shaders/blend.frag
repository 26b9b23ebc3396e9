// One texel per pixel, multiplied by the opacity; GL's blending does the rest. gl/blender.cpp inserts #version and this
// before the text:
//   LINEAR_LIGHT  1: decodes the colours, for a framebuffer that encodes what is drawn

layout(binding = 0) uniform sampler2D picture;

in vec2 position;
flat in float strength;
flat in float whiteness;

out vec4 colour;

#if LINEAR_LIGHT

// The curve of sRGB: IEC 61966-2-1:1999, 5.2.
vec3 decoded(vec3 value) {
  return mix(pow((value + 0.055) / 1.055, vec3(2.4)), value / 12.92, lessThanEqual(value, vec3(0.04045)));
}

// Colours are divided by their alpha before they are decoded. Some are brighter than that, as those of a glow without
// alpha: they are divided by their largest component.
vec4 to_light(vec4 texel) {
  float whole = max(max(texel.r, texel.g), max(texel.b, texel.a));
  return vec4(decoded(texel.rgb / max(whole, 1.0 / 255.0)) * whole, texel.a);
}

#else

vec4 to_light(vec4 texel) {
  return texel;
}

#endif

void main() {
  // Not from gl_FragCoord, see frame.frag. The interpolated position is in the middle of a pixel.
  colour = to_light(texelFetch(picture, ivec2(position), 0)) * strength;
  colour += whiteness * (1.0 - colour.a);
}
