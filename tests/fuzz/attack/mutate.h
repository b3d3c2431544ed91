// Random damage to files. The same seed reproduces the same damage.
#pragma once

#include <random>
#include <string>

namespace weft::attack {

using Random = std::mt19937_64;

/// Returns a random number in [0, max_value], inclusive.
std::uint64_t random_up_to(Random& random, std::uint64_t max_value);

/// Returns `bytes` with a few small changes at random positions: flipped bits, numbers near the
/// limits of their types, and ranges that are removed, repeated, replaced or inserted. If `text` is
/// true, the changes also include extreme numbers in place of other numbers, repeated lines, and
/// inserted words and nesting.
std::string mutated(std::string bytes, bool text, Random& random);

/// Writes the records of a .weft file, damaged or not, to `path` with a new index and correct
/// checksums, so that damage inside the records reaches the code that reads their contents. Returns
/// false if `bytes` contains no record.
bool repair_container(const std::string& bytes, const std::string& path);

/// Returns a PNG file in which the checksums of the chunks are correct.
std::string repaired_png(std::string bytes);

/// Returns a safetensors file with the correct header length.
std::string repaired_safetensors(std::string bytes);

}  // namespace weft::attack
