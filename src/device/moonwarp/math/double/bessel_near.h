/* The Bessel functions of the first and second kind below 8, in double precision: j0, j1, y0, y1, within a few units in
 * the last place of the result, also near their zeros, where libm's functions are off by up to 90.
 *
 * Piecewise polynomials that interpolate at Chebyshev nodes (computed with 400 bits). A piece with a zero z is (x - z)
 * p(x - z), with z in two doubles; near 0, the logarithm in functions of the second kind is a separate term. */
#ifndef MOONWARP_BESSEL_NEAR_H
#define MOONWARP_BESSEL_NEAR_H

#include "moonwarp/math/double/double_logarithm.h"

__mw_both double __mw_j0_near(double x) {
  if (x < 1.2) {
    return __mw_polynomial(x * x, 0x1p+0, -0x1.fffffffffffefp-3, 0x1.ffffffffff0dp-7, -0x1.c71c71c6739e5p-12,
                           0x1.c71c7153e5dd1p-18, -0x1.23453cd3504cap-24, 0x1.02d6cd8682392p-31,
                           -0x1.4aa2dbf6b6085p-39);
  }
  if (x < 3.1) {
    return ((x - 0x1.33d152e971b4p+1) - -0x1.0f539d7da258ep-53) *
           __mw_polynomial(x - 0x1.33d152e971b4p+1, -0x1.09cdb3655128p-1, 0x1.ba1deea02949ap-4, 0x1.cfae864368dd9p-5,
                           -0x1.1bb1cbe1a4661p-7, -0x1.1f992590d984bp-9, 0x1.15382ba0d5d07p-12, 0x1.6ed3ba00e3815p-15,
                           -0x1.232c78149ee18p-18, -0x1.1cce3f1fe793fp-21, 0x1.7ff96b7ed1989p-25, 0x1.295e37316f4d3p-28,
                           -0x1.5bae06ec88305p-32, -0x1.c47109418cc0dp-36, 0x1.4d8a841b93368p-40);
  }
  if (x < 4.7) {
    return __mw_polynomial(x - 0x1.ea7525460aa65p+1, -0x1.9c6cf582ac666p-2, -0x1.42bc0504e182dp-19,
                           0x1.9c6d1f9fca99bp-3, -0x1.1f057aeb4210dp-6, -0x1.b58a14429b2fdp-7, 0x1.0f901ec413b2ep-10,
                           0x1.86449dc76e507p-12, -0x1.a29f054b08631p-16, -0x1.83a0b9d79e341p-18, 0x1.6a4f858f21a49p-22,
                           0x1.ebfe850c06bcep-25, -0x1.9649286e06012p-29, -0x1.ade9c7dd4c9c4p-32,
                           0x1.5cf7768c06b46p-36);
  }
  if (x < 6.3) {
    return ((x - 0x1.6148f5b2c2e45p+2) - 0x1.75054cd60a517p-54) *
           __mw_polynomial(x - 0x1.6148f5b2c2e45p+2, 0x1.5c6e60a097823p-2, -0x1.f8f72e7a8488ep-6, -0x1.b2150cb41e92ap-5,
                           0x1.2f7ffe9021fcfp-8, 0x1.27e31fe9b1babp-9, -0x1.6f641f3c2bdf8p-13, -0x1.863f48290409bp-15,
                           0x1.ad77cff2d92bcp-19, 0x1.32e6e50496d31p-21, -0x1.2d9ea5a4f3b14p-25, -0x1.41de7fc4a06bcp-28,
                           0x1.19eed1046fdabp-32, 0x1.e4bede2899874p-36);
  }
  return __mw_polynomial(x - 0x1.c0ff972474539p+2, 0x1.33518b37ffa34p-2, -0x1.0c79b0c0f5bf4p-18, -0x1.335164f34dd3ap-3,
                         0x1.d34ba7044516bp-8, 0x1.80c7e2428dd7ep-7, -0x1.483fe558cb946p-11, -0x1.6ff9eccf89741p-12,
                         0x1.2cd20e9623587p-16, 0x1.7969e7f7e678ep-18, -0x1.1e8726885b065p-22, -0x1.e6a34f0e1180cp-25,
                         0x1.54c874d71f8cdp-29, 0x1.b029d0425da53p-32, -0x1.16af65964c1f9p-36, -0x1.fea101e267addp-40);
}
__mw_both double __mw_j1_near(double x) {
  if (x < 1.8) {
    return x * __mw_polynomial(x * x, 0x1p-1, -0x1.ffffffffffffdp-5, 0x1.55555555553c6p-9, -0x1.c71c71c708ab1p-15,
                               0x1.6c16c1643c4d2p-21, -0x1.845c868b982c1p-28, 0x1.27e4100f6daefp-35,
                               -0x1.51e22ec9ff764p-43, 0x1.20a652a9b7c48p-51);
  }
  if (x < 2.9) {
    return __mw_polynomial(x - 0x1.2cccccccccccdp+1, 0x1.0f99619b4b576p-1, -0x1.935c22ee752f3p-3, -0x1.67041ebf8f505p-3,
                           0x1.079a445903d7p-5, 0x1.7549b1b5901dap-7, -0x1.84debee3c2966p-10, -0x1.4e83a3e85763cp-12,
                           0x1.1135a0264ea68p-15, 0x1.4ec4e8e63be08p-18, -0x1.c348180fe416fp-22, -0x1.abec4c0f9f96dp-25,
                           0x1.e8d59c5d91204p-29, 0x1.79bb842659bc7p-32);
  }
  if (x < 4.7) {
    return ((x - 0x1.ea75575af6f09p+1) - -0x1.60155a9d1b256p-53) *
           __mw_polynomial(x - 0x1.ea75575af6f09p+1, -0x1.9c6cf582cbf7fp-2, 0x1.ae8a39f51ad02p-5, 0x1.b589d1da138cfp-5,
                           -0x1.537544c3319p-8, -0x1.24b3409954dc6p-9, 0x1.6e4c2d52eb0b3p-13, 0x1.83a06e28f85ebp-15,
                           -0x1.9799d44bd6708p-19, -0x1.338255d5b44acp-21, 0x1.170648ae47616p-25, 0x1.45633a426dfedp-28,
                           -0x1.03903a01bf049p-32, -0x1.e66955bd2828bp-36, 0x1.4b54ec894b5cep-40);
  }
  if (x < 6.1) {
    return __mw_polynomial(x - 0x1.551eb851eb852p+2, -0x1.626ed0e13d05p-2, -0x1.f947d8367bd53p-12, 0x1.560ca0f8bdee4p-3,
                           -0x1.3ad9580990ec8p-7, -0x1.8c9fd5ee2011ep-7, 0x1.5b4107a8729d6p-11, 0x1.7386981d2bf39p-12,
                           -0x1.2348d408c83b3p-16, -0x1.7bbc624b6077bp-18, 0x1.09db13bf97e52p-22, 0x1.ea9eb50affd42p-25,
                           -0x1.32753c4f87cffp-29, -0x1.a37556a71575ep-32);
  }
  return ((x - 0x1.c0ff5f3b4725p+2) - -0x1.b226d9d243827p-54) *
         __mw_polynomial(x - 0x1.c0ff5f3b4725p+2, 0x1.33518b3874e8ap-2, -0x1.5e70dc60362dp-6, -0x1.80c83bdeee54dp-5,
                         0x1.9a4b292e3ee88p-9, 0x1.13fbc7d691323p-9, -0x1.07358bbe61043p-13, -0x1.796a7513cf0c3p-15,
                         0x1.4255b0be0e904p-19, 0x1.3026d74f9b7f4p-21, -0x1.d48e75e7e890bp-26, -0x1.445bad07841cep-28,
                         0x1.c67b023a4d915p-33, 0x1.e60f3e2508ffp-36, -0x1.482973619e055p-40);
}
__mw_both double __mw_y0_near(double x) {
  if (x < 0.6) {
    return fma(0x1.45f306dc9c883p-1 * log(x), __mw_j0_near(x),
               __mw_polynomial(x * x, -0x1.2e4d699cbd01fp-4, 0x1.6bbcb41034283p-3, -0x1.075b1bbf40e05p-6,
                               0x1.1a6206b7065aap-11, -0x1.3e9977de90977p-17, 0x1.bce1d195c222fp-24,
                               -0x1.a411fdd658d65p-31));
  }
  if (x < 1.1) {
    return ((x - 0x1.c982eb8d417eap-1) - 0x1.ea9d270347f83p-56) *
           __mw_polynomial(x - 0x1.c982eb8d417eap-1, 0x1.c24371844b889p-1, -0x1.f7e38a46d70ffp-2, 0x1.c3b1338af66aap-3,
                           -0x1.cf18e6a4b523p-3, 0x1.c0680867dd38fp-3, -0x1.a396a80674759p-3, 0x1.9424bc051506p-3,
                           -0x1.8d35b1d82ef1ep-3, 0x1.8c07e44be84f3p-3, -0x1.8f7fb4ea4d123p-3, 0x1.9708969ff0379p-3,
                           -0x1.a156b24d834eap-3, 0x1.aba34c7927b06p-3, -0x1.cd081ea6b4169p-3, 0x1.04bf045cea7f5p-2,
                           -0x1.27726855923dcp-3, 0x1.226ee2f16120ap-3, -0x1.cda62e3cca831p-1);
  }
  if (x < 1.8) {
    return __mw_polynomial(x - 0x1.7333333333333p+0, 0x1.71abec53f5eacp-2, 0x1.c8223e8af2ef1p-2, -0x1.561f9024ed9c3p-2,
                           0x1.36473dc217c38p-5, -0x1.1c3f1a4f6f45fp-6, 0x1.3a8e3570c8e7fp-6, -0x1.7323bdfa1e284p-7,
                           0x1.ab7f7059deb6dp-8, -0x1.04369e10a0e55p-8, 0x1.416168fb76e7p-9, -0x1.907a16522fe73p-10,
                           0x1.f78786344c8acp-11, -0x1.3f6e281793cp-11, 0x1.975805da85427p-12, -0x1.fb874fd1ad60fp-13,
                           0x1.46da31bd8d54ap-13, -0x1.13fb62ca7b7a6p-13, 0x1.6709747c1a3bbp-14);
  }
  if (x < 3.1) {
    return __mw_polynomial(x - 0x1.2666666666666p+1, 0x1.09412da725e0ap-1, -0x1.ac417a3bf494dp-5, -0x1.fb3c03f78f302p-3,
                           0x1.5feeaa889b799p-5, 0x1.17562604e56d3p-7, 0x1.1c3c7b9467739p-12, -0x1.0773648c7f046p-10,
                           0x1.256b93af42b3bp-12, -0x1.7c106a78ca97fp-14, 0x1.3813c756e1105p-15, -0x1.f413bbcae5c82p-17,
                           0x1.8c9eb71de6907p-18, -0x1.3cd860d68115bp-19, 0x1.fdffcbec1b4abp-21, -0x1.a7f73343ca467p-22,
                           0x1.6c1906c33b6efp-23, -0x1.08fa0c45e9a1ep-24, 0x1.9c155841c00b8p-27);
  }
  if (x < 4.7) {
    return ((x - 0x1.fa9534d98569cp+1) - -0x1.f06ae7804384ep-54) *
           __mw_polynomial(x - 0x1.fa9534d98569cp+1, -0x1.9c34256a12a0dp-2, 0x1.a09c9290367c8p-5, 0x1.df6d59bf5119cp-5,
                           -0x1.c116fdc5938a2p-8, -0x1.1e32bc4f4bbb5p-9, 0x1.99827647bbfdp-13, 0x1.ab2c20cd97cbap-15,
                           -0x1.4863686cbf59dp-18, -0x1.3b23ad5c3b0d7p-22, -0x1.7797a22c4bd0bp-26,
                           0x1.45904ef0711bcp-26, -0x1.f3cac11ffbf37p-29, 0x1.94c8e396785ddp-31, -0x1.cd29bc6a4d50fp-33,
                           0x1.1674968996963p-34);
  }
  if (x < 6.2) {
    return __mw_polynomial(x - 0x1.5b851eb851eb8p+2, -0x1.5c7c5445a6769p-2, 0x1.c744a4fce7713p-14, 0x1.5c7716c83ae3dp-3,
                           -0x1.56d59a96292fcp-7, -0x1.a152702e0eef9p-7, 0x1.b494fb6da1d3cp-11, 0x1.7a7c95ec05158p-12,
                           -0x1.5fa9586b806a5p-16, -0x1.85a98f07caccdp-18, 0x1.55dbfe8d65465p-22, 0x1.d552cf7c45bddp-25,
                           -0x1.3ef7558f40f66p-29, -0x1.00a5ced2b476dp-31, 0x1.098a2b64e9825p-35);
  }
  return ((x - 0x1.c581dc4e72103p+2) - -0x1.9774a495f56cfp-54) *
         __mw_polynomial(x - 0x1.c581dc4e72103p+2, 0x1.334cca0697a5bp-2, -0x1.5aef611fc4d5dp-6, -0x1.8969c64cbf41cp-5,
                         0x1.b2f14a9552b7ap-9, 0x1.1d35e85fd9f5p-9, -0x1.26dd71e3b992p-13, -0x1.8177e4f67f964p-15,
                         0x1.6a92276255746p-19, 0x1.34aa6e84da879p-21, -0x1.0a282cf6bdaaap-25, -0x1.4423eb6382ba3p-28,
                         0x1.fa835776a705ap-33, 0x1.eb94a9394ba67p-36, -0x1.74397d6908bd3p-40);
}
__mw_both double __mw_y1_near(double x) {
  if (x < 1.1) {
    return fma(x,
               __mw_polynomial(x * x, -0x1.91866143cbc86p-3, 0x1.bd3975c75af23p-5, -0x1.835b978902f4cp-9,
                               0x1.2c7dbfcfa327bp-14, -0x1.0a77f00e65b3bp-20, 0x1.32d56cb7d7cefp-27,
                               -0x1.e706f1ada600fp-35),
               fma(0x1.45f306dc9c883p-1 * log(x), __mw_j1_near(x), -0x1.45f306dc9c883p-1 / x));
  }
  if (x < 1.6) {
    return __mw_polynomial(x - 0x1.599999999999ap+0, -0x1.06e6dc954f279p-1, 0x1.630a48d86fe51p-1, -0x1.20b0492a4164ep-3,
                           0x1.d99cb580ffbeep-4, -0x1.1ad9d35cdbb0dp-3, 0x1.a7dec4defe88p-4, -0x1.35bd26370771ep-4,
                           0x1.cea215ca27ed4p-5, -0x1.58b5c92470e55p-5, 0x1.0032f47c938f2p-5, -0x1.7c8f0a2674873p-6,
                           0x1.1a65488244ea5p-6, -0x1.9f3c16a0f9f62p-7, 0x1.33e6f611f3d7ap-7, -0x1.0899ef300f94p-7,
                           0x1.883f82825f5afp-8);
  }
  if (x < 3) {
    return ((x - 0x1.193bed4dff243p+1) - -0x1.bd1e50d219bfdp-55) *
           __mw_polynomial(x - 0x1.193bed4dff243p+1, 0x1.0aa48442f014bp-1, -0x1.e56f82217b8fap-4, -0x1.0d2af4e9327d2p-5,
                           -0x1.3a6dec37238d5p-8, 0x1.e671c7d1aaa01p-8, -0x1.5429dc5c92345p-9, 0x1.17ab4ac062212p-10,
                           -0x1.0b2d869a8e6e4p-11, 0x1.eea7d2c7e2c91p-13, -0x1.c3fb4182b0655p-14, 0x1.9d14d6af4d645p-15,
                           -0x1.794b7b60e6b62p-16, 0x1.5889e2f772738p-17, -0x1.3af186b963c88p-18, 0x1.1d8e16cd59b1fp-19,
                           -0x1.f9fee422fe95dp-21, 0x1.d8b3d5054f6dp-22, -0x1.030cb858484c1p-22, 0x1.ef4d1095bbc63p-24,
                           -0x1.d1dc2deed1e1p-26);
  }
  if (x < 4.6) {
    return __mw_polynomial(x - 0x1.d70a3d70a3d71p+1, 0x1.aabac9b073863p-2, 0x1.31fcbb7aafe59p-10, -0x1.8b8b36b3bc5fcp-3,
                           0x1.dc7bc1c95b656p-7, 0x1.8c9d0459b2f89p-7, -0x1.0f2fc20d578fap-11, -0x1.c04f255785897p-12,
                           0x1.21982e73d5663p-15, 0x1.3d401be7f875bp-20, 0x1.181ccba494b09p-20, -0x1.bc8381350cad5p-22,
                           0x1.ac624055ae5e1p-24, -0x1.c30024d7739dbp-26, 0x1.f5724d045b31ep-28, -0x1.215e9d02704fap-29,
                           0x1.478bdfe8f04a5p-31, -0x1.cb25840031f7dp-34);
  }
  if (x < 6.3) {
    return ((x - 0x1.5b7fe4e87b02ep+2) - 0x1.dfe7bac228e8cp-52) *
           __mw_polynomial(x - 0x1.5b7fe4e87b02ep+2, -0x1.5c7c556f0c19ap-2, 0x1.00b9f8571ca24p-5, 0x1.a15d92dfe3d0ep-5,
                           -0x1.10a329e2c32cbp-8, -0x1.1be6db990b1b5p-9, 0x1.337c7e14e3d0fp-13, 0x1.85b940b7d32a2p-15,
                           -0x1.806192d59c53ap-19, -0x1.255e396e742a2p-21, 0x1.b62e64502117ep-26, 0x1.807cd5e0115f7p-28,
                           -0x1.a82da240f9e42p-32, 0x1.75d30459a736dp-38, -0x1.44a04e3c9c37dp-38);
  }
  return __mw_polynomial(x - 0x1.bc28f5c28f5c3p+2, -0x1.367316e19b4fbp-2, -0x1.d2fd086b55206p-12, 0x1.3011ce0855dcep-3,
                         -0x1.badf9df1f5ec2p-8, -0x1.754182f68066fp-7, 0x1.21ebfe9cef2d1p-11, 0x1.6521ba4d1b7fap-12,
                         -0x1.017a99ecdcb73p-16, -0x1.732626ce1bf1fp-18, 0x1.f03c3982af257p-23, 0x1.df49449fe2a04p-25,
                         -0x1.1f69ed1374d52p-29, -0x1.b65aa14a41faap-32, 0x1.04e2148a45b76p-36, 0x1.d1e4467f4de0cp-40);
}

#endif
