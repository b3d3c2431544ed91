#include "weft/core/world/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/core/rounding.h"
#include "weft/core/tensor.h"

namespace weft {
namespace {

// Returns the build id contained in the notes of a segment, or "" if there is none.
std::string id_in(std::span<const std::byte> notes, std::size_t alignment) {
  const auto padded = [&](std::size_t size) { return round_up(size, alignment); };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    const std::size_t name_bytes = padded(note.n_namesz), id_bytes = note.n_descsz;
    if (name_bytes > notes.size() || id_bytes > notes.size() - name_bytes) break;
    const std::string_view name(reinterpret_cast<const char*>(notes.data()), note.n_namesz);
    const std::span<const std::byte> id = notes.subspan(name_bytes, id_bytes);
    if (note.n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU\0", 4)) {
      std::string text;
      for (const std::byte b : id) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
      return text;
    }
    notes = notes.subspan(std::min(notes.size(), name_bytes + padded(id_bytes)));
  }
  return "";
}

std::string id_of(const dl_phdr_info& object) {
  for (const ElfW(Phdr) & segment : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    // The address to which the loader has mapped the segment.
    const auto* begin = reinterpret_cast<const std::byte*>(object.dlpi_addr + segment.p_vaddr);
    std::string id = id_in({begin, segment.p_memsz}, segment.p_align == 8 ? 8 : 4);
    if (!id.empty()) return id;
  }
  return "";
}

struct Found {
  bool first = true;  // the program comes before its libraries
  std::string program, libraries;
};

int look_at(dl_phdr_info* object, std::size_t /*size*/, void* found_before) {
  auto& found = *static_cast<Found*>(found_before);
  const std::string_view path = object->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (found.first) {
    found.program = id_of(*object);
  } else if (name.starts_with("libweft_")) {
    found.libraries += fmt::format(" {} {}", name, id_of(*object));
  }
  found.first = false;
  return 0;
}

std::string checksum_of_program() {
  try {
    const auto file = MappedFile::open("/proc/self/exe");
    const std::string_view bytes(reinterpret_cast<const char*>(file->data()), file->bytes());
    return fmt::format("none (checksum of the file: {:016x})", stable_hash(bytes));
  } catch (const Error&) {
    return "none";
  }
}

}  // namespace

const std::string& build_id() {
  static const std::string id = [] {
    Found found;
    dl_iterate_phdr(look_at, &found);
    return (found.program.empty() ? checksum_of_program() : found.program) + found.libraries;
  }();
  return id;
}

}  // namespace weft
