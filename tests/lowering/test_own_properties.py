"""A user's class that extends a transform and makes one of its attributes by a property."""

from torchvision import transforms as v1

from fastload.lowering import lower_transform


class Falling(v1.RandomHorizontalFlip):
    p = property(lambda self: 1 - vars(self)["p"], lambda self, p: vars(self).update(p=p))

    def forward(self, image):
        return super().forward(image)


def test_what_a_property_makes_is_not_taken_from_the_object():
    """`self.p` is 0.75 there, and the object itself holds 0.25."""
    ops, reasons = lower_transform(v1.Compose([Falling(0.25), v1.ToTensor()]))
    assert [op.name for op in ops] == ["ToTensor"]
    assert len(reasons) == 1
    assert reasons[0].endswith("Falling is not one that fastload knows: its class makes p")
