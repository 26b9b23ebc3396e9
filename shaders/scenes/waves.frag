// Waves: silk in slow motion. A plane is bent by three waves, each on the result of the one before; what remains of the
// plane's straight lines is coloured. About 80 operations per pixel, so that it is smooth without a GPU too.

// A sine of period 1 made of two parabolas, which costs half as much without a GPU.
vec2 wave(vec2 x) {
  x -= round(x);
  return x * (8.0 - 16.0 * abs(x));
}
float wave(float x) {
  x -= round(x);
  return x * (8.0 - 16.0 * abs(x));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
  vec2 p = (fragCoord - 0.5 * iResolution.xy) / iResolution.y;
  float t = 0.03 * iTime;
  vec2 q = p * 0.62;
  q += 0.26 * wave(q.yx * 0.7 + vec2(t, 0.3 - 0.7 * t));
  q += 0.17 * wave(q.yx * 1.3 + vec2(0.15 - 1.1 * t, 0.9 * t));
  q += 0.08 * wave(q.yx * 2.6 + vec2(1.3 * t, 0.6 - 1.7 * t));

  float fold = 0.5 + 0.5 * wave(q.x * 1.2 + q.y * 0.6 + t);
  float sheen = 0.5 + 0.5 * wave(q.y * 1.9 - q.x * 0.8 - 1.5 * t);
  float strand = wave(7.0 * q.y + 5.0 * fold);

  vec3 col = mix(vec3(0.015, 0.02, 0.10), vec3(0.01, 0.36, 0.50), fold);
  col = mix(col, vec3(0.93, 0.22, 0.30), sheen * sheen * (1.0 - 0.55 * fold));
  float glint = fold * sheen;
  glint *= glint;
  col += vec3(1.0, 0.72, 0.36) * (glint * glint) * (0.75 + 0.25 * strand);
  col *= 0.92 + 0.08 * strand;
  fragColor = vec4(col, 1.0);
}
