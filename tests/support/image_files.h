// Functions that return the bytes of small image files.
#pragma once

#include <string>
#include <string_view>

namespace weft::testing {

/// Decodes a string of hexadecimal digits to bytes.
inline std::string unhex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// Returns a grey PNG with 2 rows of 3 pixels: 0, 51, 102 and 153, 204, 255.
inline std::string grey_png() {
  return unhex(
      "89504e470d0a1a0a0000000d4948445200000003000000020800000000b81f39c6000000104944415478"
      "9c63643036669879e63f0006a302ccd61205460000000049454e44ae426082");
}
/// Returns a PNG with 2 x 2 pixels: red and green in the first row, blue and white in the second.
inline std::string colour_png() {
  return unhex(
      "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a73000000164944415478"
      "9c63f8cfc0c0f09f819181e1ffffff0c001ef604fd09ed343e0000000049454e44ae426082");
}
inline std::string colour_bmp() {
  return unhex(
      "424d460000000000000036000000280000000200000002000000010018000000000010000000c40e0000c40e0000"
      "0000000000000000ff0000ffffff00000000ff00ff000000");
}
/// Returns a grey JPEG with 8 x 8 pixels: 128 in columns 0 to 3, 200 in columns 4 to 7.
inline std::string grey_jpeg() {
  return unhex(
      "ffd8ffe000104a46494600010100000100010000ffdb004300020101010101020101010202020202040302020202"
      "0"
      "504040304060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affc0000"
      "b"
      "080008000801011100ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5"
      "1"
      "00002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c1155"
      "2"
      "d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465"
      "6"
      "66768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b"
      "9"
      "bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffda0008010100"
      "0"
      "03f00fa43fe09f5ff003377fdb87fedcd7fffd9");
}

}  // namespace weft::testing
