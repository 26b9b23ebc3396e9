// 16 bars that are black or white: the number of the frame in Gray code, its lowest bit on the left. From one frame to
// the next only one bar changes, so that a picture that is half drawn is either the one or the other.
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
  int code = iFrame ^ (iFrame >> 1);
  int bar = int(16.0 * fragCoord.x / iResolution.x);
  fragColor = vec4(vec3(float((code >> bar) & 1)), 1.0);
}
