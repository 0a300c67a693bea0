"""Ours beside the printed rows: means and deviations, and whether the paper's order holds."""

from locater.reproduce.beside import beside, orders, spread, value_at
from locater.reproduce.catalog import ITEMS
from locater.reproduce.systems import MIOU, ScoredTable


def cells_of(label: str, by_row: dict[str, list[float]]) -> dict[object, list[float]]:
    item = ITEMS[label]
    assert isinstance(item, ScoredTable)
    return {cell: by_row[cell.row] for system in item.systems for cell in system.cells[:1] if cell.row in by_row}


def test_scores_are_found_in_results_and_shown_in_per_cent() -> None:
    assert value_at({"scores": {"miou": 0.5}}, MIOU) == 50.0
    assert value_at({"thirds": {"S": [{"miou": 0.5}]}}, ("thirds", "S", 1, "miou")) is None
    assert value_at({"scores": {"miou": None}}, MIOU) is None
    assert spread([50.0, 52.0, 54.0]) == "52.0 ± 2.0" and spread([50.0]) == "50.0"


def test_ours_stand_beneath_the_printed_rows_and_every_printed_row_is_there() -> None:
    item = ITEMS["tab:ablation:qm"]
    assert isinstance(item, ScoredTable)
    table = beside(item, cells_of(item.label, {"encoder only": [10.0, 12.0]}))  # type: ignore[arg-type]
    assert [row[0] for row in table.rows] == [
        "encoder only", "**ours**: encoder only", "cosine distance", "product distance"]  # fmt: skip
    assert table.rows[0][1:] == ["56.8", "34.1"] and table.rows[1][1:] == ["11.0 ± 1.4", "-"]


def test_an_order_is_kept_broken_or_not_sure() -> None:
    item = ITEMS["tab:ablation:qm"]
    assert isinstance(item, ScoredTable)
    kept = {"encoder only": [10.0, 11.0], "cosine distance": [20.0, 20.0], "product distance": [21.0, 19.5]}
    (order,) = orders(item, cells_of(item.label, kept))  # type: ignore[arg-type]
    assert (order.agreeing, order.surely, order.pairs, order.against) == (3, 2, 3, ())  # 20.25 over 20: not surely
    broken = {"encoder only": [30.0, 30.0], "cosine distance": [20.0, 20.0], "product distance": [25.0, 25.0]}
    (order,) = orders(item, cells_of(item.label, broken))  # type: ignore[arg-type]
    assert (order.agreeing, order.pairs) == (1, 3)
    assert order.against == ("encoder only above cosine distance", "encoder only above product distance")
    assert "surely against it: encoder only above" in order.sentence()
    (order,) = orders(item, cells_of(item.label, {row: values[:1] for row, values in broken.items()}))  # type: ignore[arg-type]
    assert (order.agreeing, order.surely, order.against) == (1, 0, ())  # one seed is never sure


def test_equal_printed_numbers_are_no_pair() -> None:
    item = ITEMS["tab:ablation:cme"]  # K = 3 and K = 5 are printed alike
    assert isinstance(item, ScoredTable)
    assert orders(item, cells_of(item.label, {"K = 3": [1.0], "K = 5": [9.0]})) == []  # type: ignore[arg-type]
