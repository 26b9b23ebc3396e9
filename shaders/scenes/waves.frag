// Waves: silk in slow motion. Three waves bend a plane, each applied to the result of the one before; the bent lines
// are coloured. Some 60 operations per pixel and no sine, so that it runs smoothly without a GPU.

// A sine of period 1 made of two parabolas, `high` at its top; costs half as much without a GPU.
vec2 wave(vec2 x, float high) {
  x -= round(x);
  return x * (8.0 * high - 16.0 * high * abs(x));
}
float wave(float x, float high) {
  x -= round(x);
  return x * (8.0 * high - 16.0 * high * abs(x));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
  vec2 q = (fragCoord - 0.5 * iResolution.xy) * (0.62 / iResolution.y);
  float t = 0.03 * iTime;
  q += wave(q.yx * 0.7 + vec2(t, 0.3 - 0.7 * t), 0.26);
  q += wave(q.yx * 1.3 + vec2(0.15 - 1.1 * t, 0.9 * t), 0.17);
  q += wave(q.yx * 2.6 + vec2(1.3 * t, 0.6 - 1.7 * t), 0.08);

  float fold = wave(q.x * 1.2 + q.y * 0.6 + t, 0.5) + 0.5;
  float sheen = wave(q.y * 1.9 - q.x * 0.8 - 1.5 * t, 0.5) + 0.5;
  float strand = wave(7.0 * q.y + 5.0 * fold, 0.09) + 0.91;

  vec3 colour = vec3(0.015, 0.02, 0.10) + fold * vec3(-0.005, 0.34, 0.40);
  colour += (vec3(0.93, 0.22, 0.30) - colour) * (sheen * sheen * (1.0 - 0.55 * fold));
  float glint = fold * sheen;
  glint *= glint;
  glint *= glint;
  fragColor = vec4((colour + glint * vec3(1.0, 0.72, 0.36)) * strand, 1.0);
}
