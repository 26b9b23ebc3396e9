#version 450 core
// Of each pixel the nearest of several pictures (gl/depth_merger.hpp). Row 0 is the top row everywhere.

layout(location = 0) out vec4 colour;

const int most = 8;
uniform sampler2D colours[most];
uniform sampler2D depths[most];
uniform int count;

// Whether something is there. By its bits, because a compiler may take no number for NaN.
bool is_there(float depth) {
  return (floatBitsToUint(depth) & 0x7f800000u) != 0x7f800000u;
}

void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  float nearest_depth = texelFetch(depths[0], at, 0).r;
  vec3 seen = texelFetch(colours[0], at, 0).rgb;
  for (int i = 1; i < count; ++i) {
    float depth = texelFetch(depths[i], at, 0).r;
    if (is_there(depth) && (!is_there(nearest_depth) || depth < nearest_depth)) {
      nearest_depth = depth;
      seen = texelFetch(colours[i], at, 0).rgb;
    }
  }
  colour = vec4(seen, 1.0);
}
