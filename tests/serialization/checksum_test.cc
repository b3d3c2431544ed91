// Checksums of a record that is longer than one checksum range.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/serialization/container.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

// A block of zeros. Pages that are never written use no memory.
class Zeros {
 public:
  explicit Zeros(std::size_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    BOOST_REQUIRE(data_ != MAP_FAILED);
  }
  ~Zeros() { ::munmap(data_, bytes_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

void put_byte(const std::string& path, std::uint64_t at, char byte) {
  const int file = ::open(path.c_str(), O_WRONLY);
  BOOST_REQUIRE(file >= 0);
  BOOST_TEST(::pwrite(file, &byte, 1, static_cast<off_t>(at)) == 1);
  ::close(file);
}

BOOST_AUTO_TEST_SUITE(checksums)

BOOST_AUTO_TEST_CASE(every_range_of_a_record_has_a_checksum) {
  constexpr std::uint64_t rest = 1000, length = kChecksumRange + rest;
  const Zeros payload(length);
  // The first and last bytes of both checksum ranges.
  const std::uint64_t places[] = {0, kChecksumRange - 1, kChecksumRange, length - 1};
  for (std::size_t i = 0; i < std::size(places); ++i) {
    payload.data()[places[i]] = static_cast<char>(i + 1);
  }
  const testing::TemporaryFolder folder;
  const std::string path = folder / "long.weft";
  ContainerWriter writer(path);
  writer.add(RecordType::data, "short", 5);
  writer.add(RecordType::data, payload.data(), length);
  writer.finish();

  const Container file(path);
  BOOST_REQUIRE(file.data().size() == 2u);
  const Record& record = file.data()[1];
  const std::vector<std::uint32_t> expected = {crc32c(payload.data(), kChecksumRange),
                                               crc32c(payload.data() + kChecksumRange, rest)};
  BOOST_TEST(record.crcs == expected, boost::test_tools::per_element());
  file.check_data();
  for (const std::uint64_t at : places) {
    put_byte(path, record.offset + at, 'x');
    const std::uint64_t range = at / kChecksumRange * kChecksumRange;
    BOOST_CHECK_EXCEPTION(
        Container(path).check_data(), FormatError,
        testing::message_contains(
            {"at byte " + std::to_string(record.offset + range) + ":",
             std::to_string(std::min(kChecksumRange, length - range)) + " bytes does not match"}));
    put_byte(path, record.offset + at, payload.data()[at]);
  }
  Container(path).check_data();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
