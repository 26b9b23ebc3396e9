// Aurora: northern lights over mountains and a lake that mirrors them.

// A sine of period 1 made of two parabolas, which costs half as much without a GPU, and a zigzag from 0 to 0.5.
float wave(float x) {
  x -= round(x);
  return x * (8.0 - 16.0 * abs(x));
}
float peak(float x) {
  return abs(x - round(x));
}
float hash(vec2 p) {
  p = fract(p * vec2(0.1031, 0.1137));
  p += dot(p, p.yx + 33.33);
  return fract((p.x + p.y) * p.x * 7.3);
}

const float shore = -0.20;  // height of the lake's far edge; the picture's height is -0.5 … 0.5

// Three curtains of rays, bent in slow waves, green at the bottom and violet at the top.
vec3 aurora(float x, float y, float t) {
  vec3 light = vec3(0.0);
  for (int i = 0; i < 3; ++i) {
    float f = float(i);
    float bend = wave(0.19 * x + 0.37 * f + 0.009 * t) + 0.42 * wave(0.61 * x - 0.016 * t + 0.71 * f) +
                 0.13 * wave(1.7 * x + 0.023 * t + 0.2 * f);
    float foot = 0.06 + 0.12 * f + 0.13 * bend;
    float d = y - foot;
    float along = x * (1.0 - 0.35 * d) + 0.5 * bend;
    float rays = 0.50 + 0.26 * wave(2.3 * along + 0.04 * t + f) + 0.20 * wave(6.1 * along - 0.09 * t) +
                 0.14 * wave(17.0 * along + 0.13 * t);
    float band = 0.5 + 0.5 * wave(0.43 * x - 0.021 * t + 0.37 * f);
    float rise = smoothstep(-0.02, 0.025, d);
    float fall = exp2(-max(d, 0.0) * (14.0 - 7.5 * rays));
    float glow = rays * rays * rise * fall;
    vec3 tint = mix(vec3(0.09, 0.95, 0.40), vec3(0.60, 0.12, 0.80), clamp(3.4 * d - 0.1, 0.0, 1.0));
    light += band * (1.5 * glow * tint + vec3(0.004, 0.042, 0.026) / (1.0 + 60.0 * d * d));
  }
  return light;
}

vec3 stars(vec2 p, float t) {
  vec2 cell = floor(p * 46.0);
  float h = hash(cell);
  vec2 at = fract(p * 46.0) - 0.5 - 0.36 * vec2(wave(h * 17.0), wave(h * 31.0));
  float size = max(h - 0.72, 0.0) * 3.6;
  float twinkle = 0.75 + 0.25 * wave(h * 57.0 + 0.35 * t);
  float s = size * size * size / (1.0 + 420.0 * dot(at, at)) - 0.012;
  return max(s, 0.0) * twinkle * mix(vec3(1.0, 0.86, 0.7), vec3(0.75, 0.86, 1.0), fract(h * 91.0));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
  vec2 p = (fragCoord - 0.5 * iResolution.xy) / iResolution.y;
  float t = iTime;
  float x = p.x, y = p.y - shore;
  bool is_lake = y < 0.0;
  float depth = 0.0;
  if (is_lake) {
    // The reflection: the mirrored height, distorted by ripples that perspective flattens.
    depth = 1.0 / (0.045 - y);
    float ripple = wave(1.1 * depth + 0.6 * x + 0.21 * t) * 0.5 + wave(2.3 * depth - 1.7 * x - 0.33 * t) * 0.3 +
                   wave(0.31 * depth * (6.0 + x) + 0.5 * t) * 0.3;
    y = -y * 1.05 + ripple * (0.006 - 0.10 * y * 0.35);
    x += 0.012 * ripple;
  }
  vec3 col = mix(vec3(0.012, 0.045, 0.070), vec3(0.002, 0.005, 0.020), clamp(1.6 * y, 0.0, 1.0));
  col += stars(p + vec2(0.002 * t, 0.0), t) * (is_lake ? 0.0 : 1.0);
  col += aurora(x, y - 0.04, t);
  // Far and near mountains, the shore's trees.
  float far = 0.055 + 0.19 * peak(0.9 * x + 0.13) * peak(0.41 * x + 0.3) * 4.0 + 0.05 * peak(2.7 * x + 0.2) +
              0.022 * peak(7.9 * x) + 0.010 * peak(19.0 * x + 0.4);
  float near = 0.015 + 0.13 * peak(0.63 * x + 0.42) + 0.03 * peak(2.1 * x) + 0.014 * peak(9.7 * x + 0.3);
  float e = 1.5 / iResolution.y;
  float slope = wave(3.1 * x + 6.0 * y) * 0.5 + 0.5;
  col = mix(col, mix(vec3(0.006, 0.022, 0.034), vec3(0.020, 0.055, 0.068), slope * smoothstep(0.02, 0.22, y)),
            1.0 - smoothstep(-e, e, y - far));
  col = mix(col, vec3(0.003, 0.010, 0.017), 1.0 - smoothstep(-e, e, y - near));
  float tree = 0.012 + 0.02 * wave(1.3 * x) * wave(0.37 * x + 0.2) +
               0.05 * (0.5 - peak(31.0 * x)) * (0.6 + 0.4 * wave(4.7 * x)) + 0.02 * (0.5 - peak(83.0 * x));
  col = mix(col, vec3(0.0005, 0.002, 0.004), 1.0 - smoothstep(-e, e, y - tree));
  if (is_lake) {
    col = col * vec3(0.62, 0.72, 0.80) + vec3(0.002, 0.005, 0.008);
    col *= 0.55 + 0.45 * clamp(depth * 0.08, 0.0, 1.0);
  }
  col = 1.0 - exp2(-2.1 * col);
  fragColor = vec4(sqrt(col), 1.0);
}
