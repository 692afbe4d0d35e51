// What each instruction of a program does, in one place for both interpreters: augment/run.cpp on
// the CPU and gpu/block/machine.h on the GPU. They differ in how pixels are reached; which function
// an instruction is, and before which ones pending lookups have to be done, is the same.
//
// A machine has a function for each step below. Its `flush` does the lookups that are pending; a
// step that reads pixels must see them done. Histograms, contrast, flips and sums take care of
// pending lookups by themselves, since some need no pass for it.
#pragma once

#include "augment/program.h"
#include "base/host_device.h"

namespace fl::augment {

// a: the instruction's arguments. it: the instruction, as the machine's own steps take it.
template <class Machine, class Step>
FL_HD void run_step(Machine& machine, Code code, const double* a, const Step& it) {
  const auto factor = static_cast<float>(a[0]);
  switch (code) {
    case Code::kIdentity:
      return;
    case Code::kContrast:
      return machine.contrast(factor);
    case Code::kAutoContrast:
    case Code::kEqualize:
      return machine.by_histogram(code);
    case Code::kColor:
    case Code::kGrayscale:
      machine.flush();
      return machine.saturate(code == Code::kColor ? factor : 0.0f);
    case Code::kHue:
      machine.flush();
      return machine.hue(static_cast<int>(a[0]));
    case Code::kFlipX:  // where a value stands does not matter to lookups: they stay pending
      return machine.flip_x();
    case Code::kFlipY:
      return machine.flip_y();
    case Code::kSharpness:
      machine.flush();
      return machine.sharpen(factor);
    case Code::kAffine:
    case Code::kPerspective:
      machine.flush();
      return machine.warp(it);
    case Code::kGaussianBlur:
      machine.flush();
      return machine.gaussian_blur(it);
    case Code::kBoxBlur:
      machine.flush();
      return machine.box_blur(a);
    case Code::kBorder:
      machine.flush();
      return machine.border(it);
    case Code::kStart:
      machine.flush();
      return machine.start();
    case Code::kAdd:
      machine.flush();
      return machine.add(factor);
    case Code::kSum:
    case Code::kMix:
      return machine.end_sum(code, factor);
    case Code::kBlend:
      machine.flush();
      return machine.blend(factor);
    case Code::kCustom:
      machine.flush();
      return machine.custom(it);
    default:
      return machine.point(it);
  }
}

}  // namespace fl::augment
