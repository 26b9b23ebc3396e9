void mainImage(out vec4 o,in vec2 p){o=vec4(p/iResolution.xy,.5+.5*sin(iTime),1);}
