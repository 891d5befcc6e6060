#include "shared/checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace tutti {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr uint64_t kMaxHeader = 100'000'000;  // as in the reference implementation, safetensors 0.4 MAX_HEADER_SIZE
constexpr const char* kMetadata = "__metadata__";

struct DtypeName {
  const char* name;
  tutti_dtype dtype;
};

// The first name of a dtype is the one that is written.
constexpr DtypeName kDtypes[] = {
    {"F32", {TUTTI_FLOAT, 32, 1}}, {"F64", {TUTTI_FLOAT, 64, 1}}, {"I8", {TUTTI_INT, 8, 1}},   {"I16", {TUTTI_INT, 16, 1}},
    {"I32", {TUTTI_INT, 32, 1}},   {"I64", {TUTTI_INT, 64, 1}},   {"U8", {TUTTI_UINT, 8, 1}},  {"U16", {TUTTI_UINT, 16, 1}},
    {"U32", {TUTTI_UINT, 32, 1}},  {"U64", {TUTTI_UINT, 64, 1}},  {"BOOL", {TUTTI_UINT, 8, 1}}};

Error system_failure(const std::filesystem::path& path, const char* what) {
  return failed(path.string() + ": " + what + ": " + std::generic_category().message(errno));
}

class File {
 public:
  File(const std::filesystem::path& path, int flags, mode_t mode = 0) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool read(void* bytes, uint64_t size) {
    auto* at = static_cast<char*>(bytes);
    while (size > 0) {
      const ssize_t got = ::read(descriptor_, at, size);
      if (got == 0) return errno = EIO, false;
      if (got < 0 && errno != EINTR) return false;
      if (got > 0) at += got, size -= static_cast<uint64_t>(got);
    }
    return true;
  }

  bool write(const void* bytes, uint64_t size) {
    auto* at = static_cast<const char*>(bytes);
    while (size > 0) {
      const ssize_t put = ::write(descriptor_, at, size);
      if (put < 0 && errno != EINTR) return false;
      if (put > 0) at += put, size -= static_cast<uint64_t>(put);
    }
    return true;
  }

  bool sync() { return ::fsync(descriptor_) == 0; }

  bool close() {
    if (!is_open()) return true;
    return ::close(std::exchange(descriptor_, -1)) == 0;
  }

 private:
  int descriptor_;
};

// ---- Reading

struct Header {
  json object;
  std::vector<std::string> names;  // of the outer object, in the order of the file
};

// Duplicate keys and deep nesting are found while parsing: afterwards the one is lost, and the other has cost memory.
Result<Header> parse_header(const std::string& file, const std::string& text) {
  Header header;
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  bool too_deep = false;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth > 2) return too_deep = true, false;
      if (event == Event::object_start) keys.emplace_back();
    } else if (event == Event::object_end && depth <= 2 && !keys.empty()) {
      keys.pop_back();
    } else if (event == Event::key && !too_deep && !keys.empty()) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) duplicate = key;
      if (keys.size() == 1) header.names.push_back(key);
    }
    return true;
  };
  if (text.empty() || text[0] != '{') return bad_input(file + ": the header is not a JSON object");
  header.object = json::parse(text, watch, /*allow_exceptions=*/false);
  if (too_deep) return bad_input(file + ": the header is nested too deeply");
  if (!header.object.is_object()) return bad_input(file + ": the header is not a JSON object");
  if (!duplicate.empty() || header.names.size() != header.object.size())
    return bad_input(file + ": the header names \"" + duplicate + "\" twice");
  return header;
}

struct Entry {
  std::string name;
  tutti_dtype dtype;
  std::vector<int64_t> shape;
  uint64_t first, last;  // bytes of the data
};

// Of a whole, dense tensor; nothing where the number doesn't fit.
std::optional<uint64_t> bytes_of(tutti_dtype dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = size_in_bytes(dtype);
  bool empty = false;
  for (int64_t length : shape) {
    empty = empty || length == 0;
    if (length < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(length, 1), &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

bool is_count(const json& value) { return value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX; }

Result<tutti_dtype> parse_dtype(const std::string& where, const json& object) {
  const auto found = object.find("dtype");
  if (found == object.end() || !found->is_string()) return bad_input(where + " has no dtype");
  const auto& name = found->get_ref<const std::string&>();
  for (const DtypeName& known : kDtypes)
    if (name == known.name) return known.dtype;
  return unsupported(where + " has the dtype \"" + name + "\"; F32, F64, I8 to I64, U8 to U64 and BOOL can be read");
}

Result<Entry> parse_entry(const std::string& file, const std::string& name, const json& object) {
  const std::string where = file + ": tensor \"" + name + "\"";
  if (!object.is_object()) return bad_input(where + " is not described by an object");
  TUTTI_TRY(const tutti_dtype dtype, parse_dtype(where, object));
  Entry entry{name, dtype, {}, 0, 0};

  const auto shape = object.find("shape");
  if (shape == object.end() || !shape->is_array()) return bad_input(where + " has no shape");
  for (const json& length : *shape) {
    if (!is_count(length)) return bad_input(where + " has an axis that is not a whole number from 0 on");
    entry.shape.push_back(length.get<int64_t>());
  }

  const auto offsets = object.find("data_offsets");
  if (offsets == object.end() || !offsets->is_array() || offsets->size() != 2 || !is_count((*offsets)[0]) || !is_count((*offsets)[1]))
    return bad_input(where + " has no data_offsets of two whole numbers");
  entry.first = (*offsets)[0].get<uint64_t>(), entry.last = (*offsets)[1].get<uint64_t>();

  const std::optional<uint64_t> bytes = bytes_of(dtype, entry.shape);
  if (!bytes) return bad_input(where + " has a shape too large to count its bytes");
  if (entry.first > entry.last || entry.last - entry.first != *bytes)
    return bad_input(where + " needs " + std::to_string(*bytes) + " bytes by its shape, but its data_offsets are " +
                     std::to_string(entry.first) + " and " + std::to_string(entry.last));
  return entry;
}

// Brings the entries into the order of their bytes, which must cover the data without gap or overlap.
Result<void> order_entries(const std::string& file, std::vector<Entry>& entries, uint64_t data_size) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return std::pair(a.first, a.last) < std::pair(b.first, b.last); });
  uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.first != end)
      return bad_input(file + ": tensor \"" + entry.name + "\" begins at byte " + std::to_string(entry.first) + " of the data, but " +
                       std::to_string(end) + " follows the tensor before it");
    end = entry.last;
  }
  if (end == data_size) return {};
  return bad_input(file + ": the tensors take " + std::to_string(end) + " bytes of data, but the file holds " +
                   std::to_string(data_size));
}

Result<std::map<std::string, std::string>> parse_metadata(const std::string& file, const json& object) {
  std::map<std::string, std::string> metadata;
  if (!object.is_object()) return bad_input(file + ": __metadata__ is not an object");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) return bad_input(file + ": __metadata__ \"" + key + "\" is not a text");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

Result<Checkpoint> read(const std::filesystem::path& path) {
  const std::string file = path.string();
  File source(path, O_RDONLY | O_NONBLOCK);  // so that a pipe without a writer is refused below, not waited for
  if (!source.is_open()) return Error{ErrorCode::bad_input, system_failure(path, "can't be opened").message};
  struct stat status {};
  if (::fstat(source.descriptor(), &status) != 0) return system_failure(path, "can't be examined");
  if (!S_ISREG(status.st_mode)) return bad_input(file + ": is not a file");

  const uint64_t size = static_cast<uint64_t>(status.st_size);
  uint64_t header_size = 0;
  if (size < sizeof header_size) return bad_input(file + ": is too short for a safetensors file");
  if (!source.read(&header_size, sizeof header_size)) return system_failure(path, "can't be read");
  if (header_size > kMaxHeader)
    return bad_input(file + ": the header's length of " + std::to_string(header_size) + " bytes is above the format's 100 MB");
  if (header_size > size - sizeof header_size)
    return bad_input(file + ": the header's length of " + std::to_string(header_size) + " bytes reaches past the end of the file");
  std::string text(header_size, '\0');
  if (!source.read(text.data(), header_size)) return system_failure(path, "can't be read");
  TUTTI_TRY(const Header header, parse_header(file, text));

  Checkpoint checkpoint;
  std::vector<Entry> entries;
  for (const std::string& name : header.names) {
    if (name == kMetadata) {
      TUTTI_TRY(checkpoint.metadata, parse_metadata(file, header.object[name]));
    } else {
      TUTTI_TRY(Entry entry, parse_entry(file, name, header.object[name]));
      entries.push_back(std::move(entry));
    }
  }
  TUTTI_CHECK(order_entries(file, entries, size - sizeof header_size - header_size));
  for (Entry& entry : entries) {
    Tensor tensor(entry.dtype, std::move(entry.shape));
    if (!source.read(tensor.data(), entry.last - entry.first)) return system_failure(path, "can't be read");
    checkpoint.tensors.push_back({std::move(entry.name), std::move(tensor)});
  }
  return checkpoint;
}

// ---- Writing

Result<const char*> written_dtype(const std::string& where, tutti_dtype dtype) {
  for (const DtypeName& known : kDtypes)
    if (same_dtype(dtype, known.dtype)) return known.name;
  return unsupported(where + " is " + name_of(dtype) + ", which can't be written");
}

// The bytes of a tensor; an error where it isn't whole, dense and in CPU memory.
Result<uint64_t> check_tensor(const std::string& where, const tutti_tensor& tensor) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && (!tensor.shape || !tensor.strides))) return bad_input(where + " has no shape or strides");
  if (tensor.device.type != TUTTI_CPU && tensor.device.type != TUTTI_CPU_PINNED)
    return unsupported(where + " is not in CPU memory; copy it there first");
  const std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  const std::optional<uint64_t> bytes = bytes_of(tensor.dtype, shape);
  if (!bytes) return bad_input(where + " has the impossible shape " + shape_text(tensor.shape, tensor.ndim));
  if (*bytes == 0) return *bytes;
  if (!tensor.data) return bad_input(where + " has no data");
  int64_t step = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (shape[static_cast<size_t>(axis)] != 1 && tensor.strides[axis] != step) return bad_input(where + " is not dense; write a contiguous copy");
    step *= shape[static_cast<size_t>(axis)];
  }
  return *bytes;
}

Result<std::string> header_text(const std::string& file, const std::vector<TensorToWrite>& tensors, std::vector<uint64_t>& sizes,
                                const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += "\"" + std::string(kMetadata) + "\":" + json(metadata).dump();
  std::set<std::string> names{kMetadata};
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::string where = file + ": tensor \"" + name + "\"";
    if (!names.insert(name).second) return bad_input(where + (name == kMetadata ? " has a name kept for metadata" : " comes twice"));
    TUTTI_TRY(const uint64_t bytes, check_tensor(where, tensor));
    TUTTI_TRY(const char* const dtype, written_dtype(where, tensor.dtype));
    if (text.size() > 1) text += ',';
    text += json(name).dump() + ":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape_text(tensor.shape, tensor.ndim) +
            ",\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(offset + bytes) + "]}";
    offset += bytes;
    sizes.push_back(bytes);
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeader) return bad_input(file + ": the header would be above the format's 100 MB");
  return text;
}

// A new file beside path, gone again unless it is put into path's place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& path) : path_(unused_name(path)), file_(path_, O_WRONLY | O_CREAT | O_EXCL, 0666) {}
  ~TemporaryFile() {
    if (file_.is_open() || closed_) ::unlink(path_.c_str());
  }

  File& file() { return file_; }
  bool close() { return closed_ = true, file_.close(); }
  bool replace(const std::filesystem::path& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) return false;
    closed_ = false;
    return true;
  }

 private:
  static std::filesystem::path unused_name(const std::filesystem::path& path) {
    static std::atomic<uint64_t> number{0};
    std::filesystem::path name;
    do {
      name = path;
      name += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
    } while (::access(name.c_str(), F_OK) == 0);
    return name;
  }

  std::filesystem::path path_;
  File file_;
  bool closed_ = false;  // and not yet in its place
};

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

Result<void> write(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<uint64_t> sizes;
  TUTTI_TRY(const std::string header, header_text(path.string(), tensors, sizes, metadata));
  const uint64_t header_size = header.size();

  File folder(folder_of(path), O_RDONLY | O_DIRECTORY);
  if (!folder.is_open()) return system_failure(path, "can't be written");
  TemporaryFile temporary(path);
  File& file = temporary.file();
  if (!file.is_open()) return system_failure(path, "can't be written");
  bool written = file.write(&header_size, sizeof header_size) && file.write(header.data(), header_size);
  for (size_t i = 0; written && i < tensors.size(); ++i) {
    const tutti_tensor& tensor = tensors[i].tensor;
    written = sizes[i] == 0 || file.write(static_cast<const char*>(tensor.data) + tensor.byte_offset, sizes[i]);
  }
  if (!written || !file.sync() || !temporary.close() || !temporary.replace(path)) return system_failure(path, "can't be written");
  if (folder.sync() || errno == EINVAL) return {};  // EINVAL: this file system has no such thing
  return system_failure(path, "is written, but may be lost when the machine stops: its folder can't be synchronised");
}

// body's result, or what it threw as an Error.
template <class Body>
auto without_throwing(const std::filesystem::path& path, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failed(path.string() + ": there is not enough memory");
  } catch (const json::exception& problem) {
    return bad_input(path.string() + ": a name or metadata is no UTF-8 text: " + problem.what());
  } catch (const std::exception& problem) {
    return failed(path.string() + ": " + problem.what());
  }
}

}  // namespace

const Tensor* Checkpoint::find(const std::string& name) const {
  for (const NamedTensor& named : tensors)
    if (named.name == name) return &named.tensor;
  return nullptr;
}

Result<Checkpoint> read_safetensors(const std::filesystem::path& path) {
  return without_throwing(path, [&] { return read(path); });
}

Result<void> write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  return without_throwing(path, [&] { return write(path, tensors, metadata); });
}

}  // namespace tutti
