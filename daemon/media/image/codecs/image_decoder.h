// Compressed pictures to pixels. One object a decode thread, reused for every picture: contexts, tables and scratch are
// kept. Other decoders can implement the same interface: bytes + box -> rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/codecs/frames.h"
#include "daemon/media/image/codecs/picture_limits.h"
#include "daemon/media/image/codecs/pixels.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;

  // Reads the header; `bytes` must stay valid until the next open(). With `exif`, the picture's size and all boxes are
  // in the oriented picture (EXIF orientation 1 to 8), else in the stored picture. Errors: kUnsupported for a picture
  // of another format, or of a kind that is not decoded (a JPEG of 12 bits, a lossless JPEG). kContent for bytes that
  // are no picture, have more than kPixelsMax pixels, are cut off, or would cost more work than their coded bytes pay
  // for.
  //
  // Damage inside a JPEG's coded data is accepted, as Pillow accepts it: the decoder makes some pixels of such data,
  // and the same pixels in every decoding. With `strict`, damage anywhere in the picture is kContent, here or in the
  // decoding; the whole picture is then decoded, whatever box is needed. Damage to a PNG is kContent with and without
  // `strict`, since PNG has checksums. Always the verdict does not depend on the box.
  //
  // decode() gives rows of pixels.format(), converted as convert_row() says. kStored takes pictures with a palette and
  // grey ones (their alpha is dropped), whose samples have at most pixels.bits bits; kContent for all others.
  virtual Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const Pixels& pixels) = 0;
  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict = false) {
    return open(bytes, exif, strict, Pixels());
  }

  // The ICC profile of the opened picture. Other ways to tell colours (an nclx box, gamma and chromaticities) do not
  // count. kContent: it is damaged, or larger than ColourProfile::kBytesMax.
  virtual Result<ColourProfile> profile() { return ColourProfile(); }

  // Decodes the part that `box` (inside the picture) needs: rows.covers contains box, and its pixels are exactly the
  // same as when the whole picture is decoded. Errors are kContent: data that can't be decoded, or costs more than
  // DecodeLimits allow.
  virtual Status decode(const Box& box, PixelRows& rows) = 0;

  // How many frames, or pages, the opened picture has: 1 of a format that has none. Known where it was opened with
  // Pixels::frames, and then at most kFramesMax.
  virtual uint64_t frames() const { return 1; }
  // As decode(), for the frames `wanted`, in one pass over the file: sink() gets the rows of each in turn. All are as
  // large as the first. Called instead of decode(), once after an open() with Pixels::frames; `wanted` rises, and has
  // numbers below frames(). Errors are decode()'s and the sink's.
  virtual Status decode_frames(std::span<const int> wanted, const Box& box, PixelRows& rows, const FrameSink& sink);

  // The shape of the opened picture's planes; none where planes can't carry the picture (any PNG, CMYK, RGB, an EXIF
  // turn that is asked for, 16 bits or alpha or stored values that are wanted, other sampling than 4:4:4, 4:2:2, 4:2:0,
  // 4:4:0 and grey). `reduction` (1, 2, 4 or 8; other numbers give no planes) asks for the planes of a smaller picture:
  // each of its samples is the mean of `reduction` pixels across and down. The last samples may include pixels that
  // only fill up the JPEG's last blocks. Chroma may be reduced less than luma, and so have luma's size. A chroma sample
  // stands for at most 8 pixels across or down: where it would stand for 16 (4:2:2 and 4:4:0 reduced by 8) there are no
  // planes. Where grey is wanted the shape has luma alone, and chroma is not decoded.
  virtual std::optional<PlanesShape> planes(int reduction) const = 0;
  std::optional<PlanesShape> planes() const { return planes(1); }
  // Decodes the whole picture into planes: `memory` has PlanesLayout(*planes()).bytes bytes, aligned to
  // PlanesLayout::kAlignment, and gets header, samples and zeroed slack. Called instead of decode(), once after open().
  // The samples equal libjpeg's raw output. Errors are the same as decode()'s.
  virtual Status decode_planes(uint8_t* memory) = 0;
  // As the other decode_planes(), but only the part that `box` (inside the picture) needs: its luma and chroma samples,
  // and one chroma sample more on each side, get their values at their places in the whole picture's planes. All other
  // samples are undefined. Faster than decode(): nothing is upsampled or converted. For planes that are rendered once
  // and not kept. With `reduction` it decodes planes(reduction). The box is still given in the picture's own pixels,
  // and all samples that it touches get values.
  virtual Status decode_planes(const Box& box, int reduction, uint8_t* memory) = 0;
  Status decode_planes(const Box& box, uint8_t* memory) { return decode_planes(box, 1, memory); }

  // The bytes of an index of the opened picture's coded data, by which a box of it is decoded later without what lies
  // around it; 0: it has no index (all but JPEGs that are plain, and have planes). Called before the decoding.
  virtual size_t index_bytes() { return 0; }
  // decode_planes(box, memory), which goes on to the picture's end and makes the index, too. The index of a picture
  // with damage may be one that helps nothing.
  virtual Status decode_and_index(const Box& box, uint8_t* memory, std::span<uint8_t> /*index*/) {
    return decode_planes(box, memory);
  }
  // open(), of bytes that a decoder has made this index of, in the same way of decoding: the picture was found to be
  // sound then. Planes of a box are decoded by the index. A wrong index costs time, or gives an error or other samples.
  virtual Result<Size> open_indexed(std::span<const uint8_t> bytes, std::span<const uint8_t> /*index*/, bool exif,
                                    bool strict, const Pixels& pixels) {
    return open(bytes, exif, strict, pixels);
  }

  // Whether the header lets expect that the opened picture's coefficients can be packed.
  virtual bool is_packable() { return false; }
  // decode_planes() of the whole picture, whose coefficients it packs as well (baseline/packed_picture.h). `packed`
  // stays until the decoder's next call; empty: they can't be packed (all but JPEGs that this daemon decodes itself).
  virtual Status decode_and_pack(uint8_t* memory, std::span<const uint8_t>& packed) {
    packed = {};
    return decode_planes(memory);
  }
  // decode_planes() of a whole progressive JPEG. It also makes a plain one with the same samples, which has an index.
  // The decoder has opened `plain` then, which stays until the next open. Empty: the picture is of another kind, or has
  // no plain form, and is to be decoded as before.
  virtual Status transcode(uint8_t* /*memory*/, std::span<const uint8_t>& plain) {
    plain = {};
    return Done{};
  }
  // Opens packed coefficients of a picture of this shape, for decode_planes() alone. kInternal, here and
  // there: they are damaged, which most but not all damage shows; the samples are other ones then.
  virtual Result<Size> open_packed(std::span<const uint8_t> /*packed*/, const PlanesShape& /*shape*/) {
    return Error{Trouble::kInternal, "packed coefficients were to be opened by a decoder that has none"};
  }
};

// Looks at each picture's first bytes and hands the picture to one of the decoders below. File names do not count.
// With Pixels::srgb it gives the pixels of a picture with a colour profile in sRGB (srgb_transforms.h); such a picture
// has no planes, and grey is made of its sRGB. A damaged profile is kContent, since its colours could only be guessed.
std::unique_ptr<ImageDecoder> make_image_decoder(const media::DecodeLimits& limits = {});

// The decoders of single formats; open() takes pictures of other formats for damaged ones.
//
// JPEG by libjpeg-turbo's own API; grey becomes RGB, CMYK and YCCK (as Adobe stores them, inverted) too. Grey is the
// luma that a JPEG has stored (as Pillow's draft("L") gives it: it may differ by 1 or 2 from the luma of its RGB), and
// of RGB and CMYK the luma of convert_row().
std::unique_ptr<ImageDecoder> make_jpeg_decoder(const media::DecodeLimits& limits = {});
// The code that decides a JPEG's pixels, with its version: "libjpeg-turbo 2.1.5 of 1991-2023". The library tells no
// version at run time but the years of its copyright. These stand behind the version that this daemon was built with,
// so that most upgrades of the shared library are noticed, too.
std::string jpeg_code();
// PNG by libspng: every colour type and depth, interlaced or not. Samples of 1, 2 and 4 bits are scaled to 8; for 8
// bits the upper 8 of 16 are taken. Alpha and the colour that tRNS makes transparent are dropped, unless RGBA is
// wanted (a tRNS of a wrong length is ignored then, and a damaged one is damage): the colours stay as they are
// stored, as in Pillow's convert("RGB"). Palette entries that are missing are black; a palette longer than the depth
// can name is damage. Gamma, sBIT and colour profiles change nothing. Of an animated PNG it decodes the picture that
// viewers without animation show. The orientation comes from EXIF, in the eXIf chunk or in a text, or from XMP.
std::unique_ptr<ImageDecoder> make_png_decoder(const media::DecodeLimits& limits = {});
// The code that decides a PNG's pixels, with its version, as the library tells it: "libspng 0.7.3".
std::string png_code();

// The decoders of formats whose library a build may lack; open() is kUnsupported then, with a sentence that names the
// library, and the code is an empty text. They decode a picture whole whatever box is needed, so that the box never
// decides the verdict; damage is kContent. A picture has no planes, and no values for masks. GIF, WebP, AVIF and TIFF
// have frames (Pixels::frame): the canvas as Pillow shows it after seek(frame), which takes the time of all frames that
// it builds on. kContent: a picture has fewer frames. Damaged pixels behind the wanted frame do not count. With
// Pixels::frames an animated PNG or JPEG XL is kUnsupported, and so is a TIFF of several pages in sRGB.
//
// WebP by libwebp, lossy and lossless, with Pillow's pixels. The first frame of an animation lies on a
// canvas that is transparent and black. The orientation comes from the EXIF chunk, or from XMP.
std::unique_ptr<ImageDecoder> make_webp_decoder(const media::DecodeLimits& limits = {});
std::string webp_code();
// TIFF by libtiff: a page, of 1 to 16 bits, as grey, palette or RGB with or without alpha, in strips, tiles or
// planes. Colours that are multiplied by alpha are divided by it, as in Pillow. White that is stored as 0 is inverted.
// CMYK, Lab (by lcms2) and YCbCr (by libtiff) of 8 bits become RGB as in Pillow; CMYK of 16 bits has more exact values
// where 16 bits are wanted. The orientation comes from the page's tag, or from XMP. Floats of 32 bits, grey or RGB, are
// given where Pixels::bits is 32, and nothing else is. kUnsupported: other floating-point samples and signed ones,
// other compressions than CCITT fax, LZW, PackBits, Deflate, JPEG and Zstandard.
std::unique_ptr<ImageDecoder> make_tiff_decoder(const media::DecodeLimits& limits = {});
std::string tiff_code();
// BMP by this daemon's own code: 1 to 32 bits, with masks or run lengths, and the headers of all ages. The picture has
// no orientation. Alpha comes from a mask of its own.
std::unique_ptr<ImageDecoder> make_bmp_decoder(const media::DecodeLimits& limits = {});
std::string bmp_code();
// GIF by giflib: a frame on the canvas that Pillow gives it, with the transparent colour or the first one around the
// first frame. A GIF has no orientation. Its transparent colour has alpha 0.
std::unique_ptr<ImageDecoder> make_gif_decoder(const media::DecodeLimits& limits = {});
std::string gif_code();
// AVIF by libavif: 8 to 12 bits, with or without alpha; the picture, or the first of an animation. It is turned by its
// own boxes (irot and imir), and not by its EXIF. Values of 10 and 12 bits are scaled to 8 or 16.
std::unique_ptr<ImageDecoder> make_avif_decoder(const media::DecodeLimits& limits = {});
std::string avif_code();
// JPEG XL by libjxl: of all depths, grey or RGB, with or without alpha; the picture, or the first of an animation. It
// is turned by its own header, and not by its EXIF. Floating-point samples are cut to 0 and 1. A picture that is
// stored in the library's own colours (lossy ones) comes in the colours that its header names.
std::unique_ptr<ImageDecoder> make_jxl_decoder(const media::DecodeLimits& limits = {});
std::string jxl_code();
// JPEG 2000 by OpenJPEG, in boxes (JP2) or as a bare codestream: 1 to 4 components of up to 16 bits, with or without
// sign, subsampled or not, or a palette; sRGB, grey or sYCC. Two components are grey with alpha, four are RGB with
// alpha. It has no orientation. kUnsupported: CMYK, other numbers of components, more bits.
std::unique_ptr<ImageDecoder> make_jpeg2000_decoder(const media::DecodeLimits& limits = {});
std::string jpeg2000_code();
// HEIC by FFmpeg's decoder of HEVC: the picture that the file shows, in one piece or in cells, of 8 to 12 bits, which
// become 8 rounded, with or without alpha. It is cut and turned by its own boxes (clap, irot and imir), and not by its
// EXIF. kUnsupported: other codings, pictures made of others, colours that are multiplied by alpha.
std::unique_ptr<ImageDecoder> make_heif_decoder(const media::DecodeLimits& limits = {});
std::string heif_code();

// The code of all these, for pictures whose format only their bytes tell. Formats that the build lacks are left out.
std::vector<std::string> picture_codes();

}  // namespace spdld::image
