// Encoder for the few protobuf messages of TensorBoard event files. Generated code for them would
// add more to the library than this encoder, because the messages contain each other. Internal to
// models/tensorboard.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// A message in the protobuf wire format: fields in the order in which they are added.
class ProtoMessage {
 public:
  ProtoMessage& integer(int field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  ProtoMessage& real(int field, double value) {
    key(field, 1);
    fixed(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  ProtoMessage& real32(int field, float value) {
    key(field, 5);
    fixed(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  ProtoMessage& bytes(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(int field, const ProtoMessage& value) { return bytes(field, value.bytes_); }
  /// A packed repeated field.
  ProtoMessage& reals(int field, std::span<const double> values) {
    ProtoMessage packed;
    for (const double value : values) packed.fixed(std::bit_cast<std::uint64_t>(value), 8);
    return message(field, packed);
  }

  const std::string& str() const { return bytes_; }

 private:
  void key(int field, unsigned type) { varint(static_cast<std::uint64_t>(field) << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  void fixed(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> 8 * i);
  }

  std::string bytes_;
};

}  // namespace weft
