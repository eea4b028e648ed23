from margrave.progress import counted


def test_a_counted_step_tells_how_far_the_work_is():
    told = []
    step = counted(lambda done, total: told.append((done, total)), 3)
    for _ in range(3):
        step()
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_nobody_need_be_told():
    step = counted(None, 1)
    assert step() is None
