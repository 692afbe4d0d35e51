// class CropRecords, Programs, Noise, StoreRecords and PictureWork.
//
// Constructors keep arrays as they are, without a copy; see records.h for when they are checked.
#include "bind/records.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "bind/bind.h"

namespace fl::bind {
namespace {

using namespace nb::literals;
using OptionalInput = std::optional<Input>;

void make_crops(CropRecords* self, const Input& rows,
                const std::variant<std::string, Input>& filter, int height, int width,
                const std::string& order) {
  new (self) CropRecords{rows, filter, height, width, cpu::parse_order(order)};
}

void make_programs(Programs* self, const Input& rows, nb::object functions) {
  parse_functions(functions);  // throws TypeError for anything else
  new (self) Programs{rows, std::move(functions)};
}

void make_noise(Noise* self, const Input& keys, const Input& fillings, const Input& tables) {
  new (self) Noise{keys, fillings, tables};
}

void make_store(StoreRecords* self, bool channels_last, const OptionalInput& table,
                const OptionalInput& rows, const OptionalInput& columns, const OptionalInput& boxes,
                const OptionalInput& fills, const std::optional<Noise>& noise,
                const OptionalInput& partners, int patch) {
  new (self) StoreRecords{channels_last, table, rows,     columns, boxes,
                          fills,         noise, partners, patch};
}

void make_picture(PictureWork* self, const CropRecords& crops, const StoreRecords& store,
                  const Output& out, const std::optional<Programs>& programs) {
  new (self) PictureWork{crops, store, out, programs};
}

}  // namespace

void bind_records(nb::module_& m) {
  nb::class_<CropRecords>(m, "CropRecords", nb::is_final())
      .def("__init__", &make_crops, "rows"_a.noconvert(), "filter"_a.noconvert(), "height"_a,
           "width"_a, "order"_a = "pillow13")
      .def("__len__",
           [](const CropRecords& self) { return self.rows.ndim() == 0 ? 0 : self.rows.shape(0); })
      .def_prop_ro("rows", [](const CropRecords& self) { return self.rows; })
      .def_prop_ro("size",
                   [](const CropRecords& self) { return nb::make_tuple(self.height, self.width); });
  nb::class_<Programs>(m, "Programs", nb::is_final())
      .def("__init__", &make_programs, "rows"_a.noconvert(), "functions"_a = nb::none())
      .def_prop_ro("rows", [](const Programs& self) { return self.rows; });
  nb::class_<Noise>(m, "Noise", nb::is_final())
      .def("__init__", &make_noise, "keys"_a.noconvert(), "fillings"_a.noconvert(),
           "tables"_a.noconvert())
      .def_prop_ro("keys", [](const Noise& self) { return self.keys; })
      .def_prop_ro("fillings", [](const Noise& self) { return self.fillings; })
      .def_prop_ro("tables", [](const Noise& self) { return self.tables; });
  nb::class_<StoreRecords>(m, "StoreRecords", nb::is_final())
      .def("__init__", &make_store, nb::kw_only(), "channels_last"_a,
           "table"_a.noconvert() = nb::none(), "rows"_a.noconvert() = nb::none(),
           "columns"_a.noconvert() = nb::none(), "boxes"_a.noconvert() = nb::none(),
           "fills"_a.noconvert() = nb::none(), "noise"_a = nb::none(),
           "partners"_a.noconvert() = nb::none(), "patch"_a = 0)
      .def_ro("patch", &StoreRecords::patch)
      .def_ro("channels_last", &StoreRecords::channels_last)
      .def_prop_ro("table", [](const StoreRecords& self) { return self.table; })
      .def_prop_ro("rows", [](const StoreRecords& self) { return self.rows; })
      .def_prop_ro("columns", [](const StoreRecords& self) { return self.columns; })
      .def_prop_ro("boxes", [](const StoreRecords& self) { return self.boxes; })
      .def_prop_ro("fills", [](const StoreRecords& self) { return self.fills; })
      .def_ro("noise", &StoreRecords::noise)
      .def_prop_ro("partners", [](const StoreRecords& self) { return self.partners; });
  nb::class_<PictureWork>(m, "PictureWork", nb::is_final())
      .def("__init__", &make_picture, "crops"_a, "store"_a, "out"_a.noconvert(),
           "programs"_a = nb::none());
}

}  // namespace fl::bind
