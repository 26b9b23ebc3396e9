// Orbit: a gas giant with rings, a small moon, and a camera that swings around them. No ray marching: formulas
// intersect the spheres and the ring plane, and the distance by which a ray misses softens the edges. A viewer's mouse
// turns the camera, and its wheel goes nearer. R hides the rings, M the moon.

// A sine of period 1 made of two parabolas, which costs half as much without a GPU.
float wave(float x) {
  x -= round(x);
  return x * (8.0 - 16.0 * abs(x));
}
vec2 wave(vec2 x) {
  x -= round(x);
  return x * (8.0 - 16.0 * abs(x));
}
float hash(vec3 p) {
  p = fract(p * vec3(0.1031, 0.1137, 0.0973));
  p += dot(p, p.yzx + 33.33);
  return fract((p.x + p.y) * p.z);
}

const vec3 sun = normalize(vec3(0.80, 0.28, 0.42));
const vec3 axis = normalize(vec3(-0.30, 0.93, 0.20));
const float inner = 1.32, outer = 2.35;

// Distance to a sphere at the origin, and how much of the pixel it covers; `pixel` is the pixel size at distance 1.
vec2 hit_sphere(vec3 from, vec3 along, float radius, float pixel) {
  float b = dot(from, along);
  vec3 nearest = from - b * along;
  float miss = length(nearest);
  float distance_to = -b - sqrt(max(radius * radius - miss * miss, 0.0));
  return vec2(distance_to, distance_to > 0.0 ? clamp(0.5 + (radius - miss) / pixel, 0.0, 1.0) : 0.0);
}

// A ripple of frequency `f` that fades out where it is too fine for pixels of size `pixel`.
float ripple(float f, float r, float pixel) {
  return wave(f * r) * clamp(1.6 - 3.0 * f * pixel, 0.0, 1.0);
}

const int key_m = 77, key_r = 82;

// Opacity of the rings at distance r from the centre, with their gaps.
float ring_density(float r, float pixel) {
  float s = (r - inner) / (outer - inner);
  float d = 0.64 + 0.20 * wave(3.1 * r) + 0.14 * ripple(9.7, r, pixel) + 0.11 * ripple(23.0, r, pixel) +
            0.08 * ripple(57.0, r, pixel);
  d *= 0.07 + 0.93 * smoothstep(0.010, 0.022, abs(s - 0.63));
  d *= 0.3 + 0.7 * smoothstep(0.004, 0.010, abs(s - 0.88));
  d *= smoothstep(0.0, 0.20, s + 0.03) * (1.0 - smoothstep(0.985, 1.0, s));
  return clamp(d, 0.0, 1.0) * (s > 0.0 && s < 1.0 ? 1.0 : 0.0);
}

// Bands along the latitude, distorted by several waves, and one red storm.
vec3 planet_colour(vec3 n, float t) {
  vec3 side = normalize(cross(axis, vec3(0.0, 0.0, 1.0)));
  vec3 front = cross(side, axis);
  float lat = dot(n, axis);
  float lon = atan(dot(n, side), dot(n, front)) / 6.2831853;
  vec2 q = vec2(lon * 3.0, lat * 2.2);
  q.x += 0.020 * t + 0.5 * sin(0.01 * t) * wave(lat * 2.0);
  vec2 storm = (vec2(lon + 0.007 * t + 0.18, lat + 0.36) - vec2(round(lon + 0.007 * t + 0.18), 0.0)) * vec2(7.0, 6.0);
  float eye = exp2(-3.0 * dot(storm, storm));
  q.y += 0.30 * eye * storm.x + 0.05 * eye;
  for (int i = 0; i < 5; ++i) {
    float f = exp2(float(i));
    q.y += 0.055 / f * wave(2.0 * f * q.x + 1.7 * q.y * f + 0.013 * t * f);
    q.x += 0.120 / f * wave(3.1 * f * q.y + 0.3 * f);
  }
  float bands = 0.5 + 0.27 * wave(1.9 * q.y + 0.1) + 0.16 * wave(4.7 * q.y) + 0.11 * wave(11.0 * q.y + 0.3) +
                0.05 * wave(29.0 * q.y);
  vec3 col = mix(vec3(0.42, 0.19, 0.10), vec3(0.93, 0.76, 0.54), clamp(bands, 0.0, 1.0));
  col = mix(col, vec3(0.86, 0.88, 0.86), smoothstep(0.72, 0.98, bands) * 0.6);
  col = mix(col, vec3(0.72, 0.22, 0.09), 0.8 * eye);
  return mix(col, vec3(0.36, 0.42, 0.50), smoothstep(0.55, 0.98, abs(lat)) * 0.75);
}

// Stars in the cells of two grids, dust along a band, and the sun.
vec3 sky(vec3 along) {
  vec3 col = vec3(0.0);
  for (int i = 0; i < 2; ++i) {
    vec3 p = along * (90.0 + 85.0 * float(i));
    vec3 cell = floor(p);
    float h = hash(cell);
    vec3 at = fract(p) - 0.5;
    float size = max(h - 0.93, 0.0) * 14.0;
    col += size * size * 1.4 * exp2(-55.0 * dot(at, at)) *
           mix(vec3(1.0, 0.80, 0.62), vec3(0.66, 0.82, 1.0), fract(h * 57.0));
  }
  float band = dot(along, normalize(vec3(0.35, 0.75, -0.25)));
  vec2 q = along.xy * 1.1 + along.z * 0.7;
  q += 0.34 * wave(q.yx * 0.6);
  q += 0.20 * wave(q.yx * 1.3 + 0.3);
  q += 0.11 * wave(q.yx * 2.9);
  float dust = 0.5 + 0.5 * wave(0.8 * q.x + 0.5 * q.y);
  float glow = exp2(-5.0 * band * band);
  col += glow * mix(vec3(0.004, 0.006, 0.016), vec3(0.030, 0.017, 0.036), dust);
  float toward = max(dot(along, sun), 0.0);
  col += vec3(1.0, 0.86, 0.66) *
         (0.12 * pow(toward, 24.0) + 0.5 * pow(toward, 400.0) + 6.0 * smoothstep(0.9993, 0.9997, toward));
  return col;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
  vec2 p = (fragCoord - 0.5 * iResolution.xy) / iResolution.y;
  float t = iTime;
  // The camera swings to and fro on the bright side, above and below the rings in turn.
  float turn = 0.45 + 1.25 * sin(0.037 * t + 0.35);
  float lift = 0.10 + 0.40 * sin(0.061 * t + 0.75);
  turn += 3.1415927 * iDrag.x / iResolution.y;
  lift = clamp(lift - 3.1415927 * iDrag.y / iResolution.y, -1.5, 1.5);
  float away = clamp((4.0 + 0.5 * sin(0.05 * t)) * exp2(-0.2 * iWheel.y), 1.3, 40.0);
  vec3 eye = away * vec3(cos(turn) * cos(lift), sin(lift), sin(turn) * cos(lift));
  vec3 ahead = normalize(vec3(0.0, -0.05, 0.0) - eye);
  vec3 right = normalize(cross(ahead, vec3(0.12, 1.0, 0.0)));
  const float lens = 1.55;
  vec3 along = normalize(ahead * lens + right * (p.x - 0.06) + cross(right, ahead) * p.y);
  float pixel = 1.0 / (lens * iResolution.y);  // at distance 1

  vec3 col = sky(along);
  // The rings, with the planet's shadow. Their far half is behind the planet.
  float slant = dot(along, axis);
  float to_ring = -dot(eye, axis) / slant;
  vec3 at = eye + to_ring * along;
  float density = to_ring > 0.0 && !isKeyToggled(key_r) ? ring_density(length(at), to_ring * pixel / max(abs(slant), 0.05)) : 0.0;
  float sunward = dot(at, sun);
  float lit = sunward > 0.0 ? 1.0 : smoothstep(0.97, 1.03, length(at - sunward * sun));
  float thin = dot(eye, axis) * dot(sun, axis) > 0.0 ? 1.0 : 0.45;  // the dark side shows only transmitted light
  vec3 ring = mix(vec3(0.42, 0.33, 0.26), vec3(0.98, 0.88, 0.72), density) * (0.02 + 0.98 * lit) * thin;
  ring *= 0.80 + pow(max(dot(along, sun), 0.0), 6.0);
  float cover = density * (2.0 - density);  // more opaque to stars than bright

  vec2 planet = hit_sphere(eye, along, 1.0, pixel * 3.0);
  bool in_front = to_ring < planet.x;
  if (!in_front || planet.y < 1.0) {
    col = mix(col, ring, cover);
  }
  // A thin atmosphere around the edge.
  vec3 nearest = eye - dot(eye, along) * along;
  float miss = length(nearest);
  float dawn = smoothstep(-0.55, 0.6, dot(nearest, sun) / miss);
  col += vec3(0.20, 0.34, 0.70) * exp2(-38.0 * max(miss - 1.0, 0.0)) * dawn * 0.4 * (1.0 - (in_front ? cover : 0.0));

  // The planet, with the rings' shadow.
  vec3 n = normalize(eye + planet.x * along);
  float light = dot(n, sun);
  float up = -dot(n, axis) / dot(sun, axis);
  float shade = up > 0.0 ? 1.0 - 0.82 * ring_density(length(n + up * sun), 0.016) : 1.0;
  float rim = 1.0 - max(dot(n, -along), 0.0);
  vec3 ball = planet_colour(n, t) * (0.006 + 1.02 * smoothstep(-0.05, 0.95, light) * shade);
  ball += vec3(0.26, 0.40, 0.76) * rim * rim * rim * smoothstep(-0.2, 0.5, light) * 0.8;
  col = mix(col, ball, planet.y);
  if (in_front) {
    col = mix(col, ring, planet.y * cover);
  }

  float m = 0.11 * t + 2.6;
  vec3 moon = 2.7 * vec3(cos(m), 0.24 * sin(m + 0.5), sin(m));
  vec2 small = hit_sphere(eye - moon, along, 0.075, pixel * 3.0);
  if (small.y > 0.0 && !isKeyToggled(key_m) && (small.x < planet.x || planet.y == 0.0)) {
    n = normalize(eye + small.x * along - moon);
    float rough = wave(1.3 * n.x + 0.9 * n.y) * wave(1.7 * n.z - 1.3 * n.y) +
                  0.6 * wave(2.7 * n.y + 2.3 * n.x) * wave(3.1 * n.z + n.x);
    vec3 grey = vec3(0.55, 0.53, 0.50) * (0.75 + 0.3 * rough) * (max(dot(n, sun), 0.0) * 1.1 + 0.004);
    col = mix(col, grey, small.y * (to_ring > 0.0 && to_ring < small.x ? 1.0 - cover : 1.0));
  }
  col = 1.0 - exp2(-1.9 * col);
  fragColor = vec4(sqrt(col), 1.0);
}
