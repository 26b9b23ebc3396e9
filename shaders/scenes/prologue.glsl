#version 450 core
// Precedes the text of every scene: Shadertoy's inputs (docs/shadertoy.md), and a main that calls mainImage. Shadertoy
// counts fragCoord from the bottom. With the origin at the upper left, GL's row 0 is the picture's top row, which comes
// first in memory.
layout(origin_upper_left) in vec4 gl_FragCoord;
layout(location = 0) out vec4 framewire_colour;
uniform vec3 iResolution;
uniform float iTime, iTimeDelta, iFrameRate;
uniform int iFrame;
uniform vec4 iMouse, iDate;
uniform vec2 iDrag, iWheel;
uniform vec3 iChannelResolution[4];
uniform sampler2D iChannel0, iChannel1, iChannel2, iChannel3, iKeyboard;
// Row r of iKeyboard, a bit a column: cheaper than a texel without a GPU.
uniform uint iKeyBits[24];
bool keyBit(int row, int code) { return ((iKeyBits[8 * row + (code >> 5)] >> uint(code & 31)) & 1u) != 0u; }
bool isKeyDown(int code) { return keyBit(0, code); }
bool isKeyPressed(int code) { return keyBit(1, code); }
bool isKeyToggled(int code) { return keyBit(2, code); }
const float iSampleRate = 44100.0;
const float iChannelTime[4] = float[4](0.0, 0.0, 0.0, 0.0);
#define HW_PERFORMANCE 1
// Scenes with depth are seen by a camera, which may be elsewhere. iEyeAxes: its right, its up, and behind it.
uniform vec3 iEye;
uniform mat3 iEyeAxes;
uniform float iFieldOfView;
uniform uint iParts;
vec3 eyeRay(vec2 fragCoord) {
  vec2 at = (2.0 * fragCoord - iResolution.xy) / iResolution.y * tan(0.5 * iFieldOfView);
  return normalize(iEyeAxes * vec3(at, -1.0));
}
bool hasPart(int number) { return ((iParts >> uint(number - 1)) & 1u) != 0u; }
const float noDepth = uintBitsToFloat(0x7f800000u);
#if HAS_DEPTH
layout(location = 1) out float framewire_depth;
void mainImageDepth(out vec4 fragColor, out float fragDepth, in vec2 fragCoord);
void main() {
  vec4 colour = vec4(0.0);
  float depth = noDepth;
  mainImageDepth(colour, depth, gl_FragCoord.xy);
  framewire_depth = depth;
#else
void mainImage(out vec4 fragColor, in vec2 fragCoord);
void main() {
  vec4 colour = vec4(0.0);
  mainImage(colour, gl_FragCoord.xy);
#endif
  framewire_colour = vec4(colour.rgb, 1.0).ORDER_IN_MEMORY;
}
// The picture's downward direction is GL's upward direction.
#define dFdy(value) (-dFdy(value))
