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
uniform sampler2D iChannel0, iChannel1, iChannel2, iChannel3;
const float iSampleRate = 44100.0;
const float iChannelTime[4] = float[4](0.0, 0.0, 0.0, 0.0);
#define HW_PERFORMANCE 1
void mainImage(out vec4 fragColor, in vec2 fragCoord);
void main() {
  vec4 colour = vec4(0.0);
  mainImage(colour, gl_FragCoord.xy);
  framewire_colour = vec4(colour.rgb, 1.0).ORDER_IN_MEMORY;
}
// The picture's downward direction is GL's upward direction.
#define dFdy(value) (-dFdy(value))
