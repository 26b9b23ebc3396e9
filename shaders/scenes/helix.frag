// Helix: two strands of balls that wind around each other, rungs between them, and a floor. It has depth, and three
// parts that several senders can draw: 1 the first strand and the floor, 2 the second strand, 3 the rungs. Formulas
// intersect each shape by itself, and nothing casts a shadow. So a part looks the same whether or not the others are
// drawn with it.

const int steps = 11;
const float rise = 0.22, twist = 0.62;     // from one step to the next
const float coil = 0.72;                   // of the strands
const float ball = 0.165, rung = 0.055;    // radii
const float floor_y = -1.42, floor_radius = 1.9;
const vec3 light = normalize(vec3(0.45, 0.80, 0.40));

struct Hit {
  float depth;
  vec3 normal;
  vec3 colour;
};

// From `from` along the ray to a ball.
float to_ball(vec3 from, vec3 along, vec3 centre, float radius) {
  vec3 towards = from - centre;
  float b = dot(towards, along);
  float h = b * b - dot(towards, towards) + radius * radius;
  float t = -b - sqrt(max(h, 0.0));
  return h >= 0.0 && t > 0.0 ? t : noDepth;
}

// To the side of a tube from `low` to `high`.
float to_tube(vec3 from, vec3 along, vec3 low, vec3 high, float radius) {
  vec3 axis = normalize(high - low);
  vec3 across = along - axis * dot(along, axis);
  vec3 offset = from - low;
  vec3 beside = offset - axis * dot(offset, axis);
  float a = dot(across, across), b = dot(across, beside);
  float h = b * b - a * (dot(beside, beside) - radius * radius);
  float t = (-b - sqrt(max(h, 0.0))) / max(a, 1e-12);
  float at = dot(offset + t * along, axis);
  return h >= 0.0 && t > 0.0 && at >= 0.0 && at <= length(high - low) ? t : noDepth;
}

// The nearer one; the first if both are equal.
void take(inout Hit hit, float depth, vec3 normal, vec3 colour) {
  if (depth < hit.depth) {
    hit = Hit(depth, normal, colour);
  }
}

void hit_strand(inout Hit hit, vec3 from, vec3 along, float side, vec3 colour) {
  vec2 turned = vec2(side, 0.0);
  mat2 turn = mat2(cos(twist), sin(twist), -sin(twist), cos(twist));
  float start = 0.5 * iTime;
  turned = mat2(cos(start), sin(start), -sin(start), cos(start)) * turned;
  for (int i = 0; i < steps; ++i) {
    vec3 centre = vec3(coil * turned.x, rise * float(i - steps / 2), coil * turned.y);
    float depth = to_ball(from, along, centre, ball);
    take(hit, depth, (from + depth * along - centre) / ball, colour * (0.78 + 0.22 * float(i & 1)));
    turned = turn * turned;
  }
}

void hit_rungs(inout Hit hit, vec3 from, vec3 along) {
  vec2 turned = vec2(1.0, 0.0);
  mat2 turn = mat2(cos(twist), sin(twist), -sin(twist), cos(twist));
  float start = 0.5 * iTime;
  turned = mat2(cos(start), sin(start), -sin(start), cos(start)) * turned;
  for (int i = 0; i < steps; ++i) {
    vec3 middle = vec3(0.0, rise * float(i - steps / 2), 0.0);
    vec3 arm = coil * vec3(turned.x, 0.0, turned.y);
    float depth = to_tube(from, along, middle - arm, middle + arm, rung);
    vec3 at = from + depth * along - middle;
    vec3 axis = normalize(arm);
    float along_arm = dot(at, axis);
    take(hit, depth, (at - axis * along_arm) / rung,
         along_arm > 0.0 ? vec3(0.95, 0.78, 0.36) : vec3(0.62, 0.80, 0.42));
    turned = turn * turned;
  }
}

void hit_floor(inout Hit hit, vec3 from, vec3 along) {
  float depth = (floor_y - from.y) / along.y;
  vec2 at = from.xz + depth * along.xz;
  bool is_hit = depth > 0.0 && dot(at, at) < floor_radius * floor_radius;
  float checks = mod(floor(at.x * 2.5) + floor(at.y * 2.5), 2.0);
  float ring = smoothstep(floor_radius, 0.3, length(at));
  take(hit, is_hit ? depth : noDepth, vec3(0.0, along.y < 0.0 ? 1.0 : -1.0, 0.0),
       mix(vec3(0.16, 0.18, 0.22), vec3(0.40, 0.43, 0.48), checks) * (0.35 + 0.65 * ring));
}

vec3 background(vec3 along) {
  return mix(vec3(0.030, 0.036, 0.052), vec3(0.115, 0.145, 0.205), smoothstep(-0.6, 0.8, along.y));
}

void mainImageDepth(out vec4 fragColor, out float fragDepth, in vec2 fragCoord) {
  vec3 along = eyeRay(fragCoord);
  Hit hit = Hit(noDepth, vec3(0.0, 1.0, 0.0), vec3(0.0));
  if (to_ball(iEye, along, vec3(0.0), 2.4) != noDepth || dot(iEye, iEye) < 2.4 * 2.4) {
    if (hasPart(1)) {
      hit_strand(hit, iEye, along, 1.0, vec3(0.92, 0.36, 0.30));
      hit_floor(hit, iEye, along);
    }
    if (hasPart(2)) {
      hit_strand(hit, iEye, along, -1.0, vec3(0.22, 0.62, 0.78));
    }
    if (hasPart(3)) {
      hit_rungs(hit, iEye, along);
    }
  }
  vec3 lit = background(along);
  if (hit.depth != noDepth) {
    float facing = max(dot(hit.normal, light), 0.0);
    float shine = pow(max(dot(reflect(along, hit.normal), light), 0.0), 40.0);
    float from_above = 0.5 + 0.5 * hit.normal.y;
    lit = hit.colour * (0.14 + 0.16 * from_above + 0.80 * facing) + 0.35 * shine;
  }
  fragColor = vec4(sqrt(clamp(lit, 0.0, 1.0)), 1.0);
  fragDepth = hit.depth;
}
