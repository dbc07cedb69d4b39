/* Runs inside a timeline's page, after its own script: uses it as a person would and says in the
 * page's attribute data-test what went wrong, or "ok". */
"use strict";
(async () => {
  const check = (ok, what) => { if (!ok) throw new Error(what); };
  /* Virtual time does not wait for the screen: what is due to be drawn is drawn now. */
  const frame = () => new Promise(done => setTimeout(() => { if (pending) paint(); done(); }, 1));
  const box = canvas.getBoundingClientRect();
  const mouse = (type, x, y, more) => canvas.dispatchEvent(new (type === "wheel" ? WheelEvent : PointerEvent)(type,
    { clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true, pointerId: 1, ...more }));
  const colours = () => new Set(new Uint32Array(cx.getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
  const press = k => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true }));
  const click = (x, y) => { mouse("pointerdown", x, y); mouse("pointerup", x, y); };

  const tour = async first => {
    await frame();
    check(Number(root.dataset.painted) > 0, "nothing was drawn");
    check(document.title && $("title").textContent === D.title && $("label").textContent === D.label, "no title or label");
    const s = D.summary, sum = s.body + s.waiting + s.idle + s.scheduling;
    check(!S.n || Math.abs(sum - 1) < 0.01, "the shares do not add up: " + sum);
    check(!first || !S.n || colours() > 4, "the drawing has hardly any colours");

    mouse("wheel", W / 2, H / 2, { deltaY: -240 });
    await frame();
    check(!S.n || t1 - t0 < 0.7 * units, "the wheel does not zoom");
    const before0 = t0;
    mouse("pointerdown", W / 2, H / 2);
    mouse("pointermove", W / 2 - 80, H / 2);
    mouse("pointerup", W / 2 - 80, H / 2);
    await frame();
    check(!S.n || t0 > before0, "dragging does not move");
    check(chosen === -1, "dragging chooses");
    press("0");
    check(t0 < 0 && t1 > units, "0 does not show all");
    mouse("wheel", W / 2, H / 2, { deltaY: -100, shiftKey: true });
    await frame();
    press("0");
    mouse("pointerdown", LEFT + 10, 10);
    mouse("pointerup", LEFT + 10, 10);
    press("0");

    if (S.n) {
      let widest = 0;
      for (let i = 0; i < S.n; i++) if (S.left[i] - S.reached[i] > S.left[widest] - S.reached[widest]) widest = i;
      const x = X((S.left[widest] + S.reached[widest]) / 2), y = Y(rowOf(widest)) + rowH / 2;
      mouse("pointermove", x, y);
      check($("tip").style.display === "block" && $("tip").textContent.includes(D.tasks[S.task[widest]]), "no tooltip");
      click(x, y);
      check(chosen === widest, "a click chooses " + chosen + ", not " + widest);
      check($("chosen").textContent.includes(D.tasks[S.task[widest]]), "the chosen task is not described");
      canvas.dispatchEvent(new MouseEvent("dblclick", { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
      await frame();
      check(t1 - t0 <= 3.01 * (S.left[widest] - S.reached[widest]) + 1, "a double click does not zoom");
      press("0");
    }

    /* Arrows: the two directions agree, and nothing comes before its cause. */
    let edges = 0;
    const step = Math.max(1, Math.floor(S.n / 60));
    for (let i = 0; i < S.n; i += step) {
      choose(i);
      edges += links.before.length + links.after.length;
      check(S.cause[i] < 0 || links.before.some(([p]) => p === S.cause[i]), "the last arrival is not among the arrows");
      for (const [p] of links.before.slice(0, 4)) {
        check(S.done[p] <= S.ready[i] + 1, "an arrow goes back in time");
        check(after(p).some(([k]) => k === i), "an arrow has one direction only");
      }
      if (i % (step * 20) === 0) { show(i); await frame(); }
    }
    check(!D.linked || S.n < 2 || edges > 0, "no arrows");
    check(!D.linked || !S.n || S.path.length > 0 && onPath[S.path[0]] === 1, "no critical path");
    check(D.linked || $("path").disabled, "a critical path can be asked for without dependencies");
    check(D.linked || !S.n || $("notes").textContent.includes("not known"), "a page without dependencies does not say so");
    check($("notes").textContent.includes(D.note), "a note is not shown");

    /* Tasks run where the page says that they may. */
    check($("ranges").rows.length === D.ranges.length, "the list of ranges lacks a row");
    const may = new Map(D.ranges.map(([task, from, to, queued]) => [task, [Math.floor(D.rows.length * from / 1e6),
      Math.max(Math.floor(D.rows.length * to / 1e6), Math.floor(D.rows.length * from / 1e6) + 1), queued]]));
    for (let i = 0; i < S.n && may.size; i++) {
      const [from, to, queued] = may.get(S.task[i]);
      check(queued || rowOf(i) >= from && rowOf(i) < to, D.tasks[S.task[i]] + " runs outside its range, on " + rowOf(i));
    }
    press("Escape");
    check(chosen === -1, "Escape does not unchoose");

    for (const id of ["zoom-in", "taller", "flatter", "zoom-out", "fit"]) { $(id).click(); await frame(); }
    if ($("legend").rows.length > 1) {
      $("legend").rows[1].click();
      check(off.size === 1, "the legend hides nothing");
      $("legend").rows[1].click();
      check(off.size === 0, "the legend shows nothing again");
    }
    $("find").value = "no such task";
    $("find").dispatchEvent(new Event("input"));
    await frame();
    $("find").value = "";
    $("find").dispatchEvent(new Event("input"));
    for (const k of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "+", "-"]) press(k);
    await frame();
  };

  await frame();
  check(root.dataset.state === "ready", "the page did not start");
  check($("launches").children.length === (launches.length > 1 ? launches.length : 0), "launches cannot be chosen");
  for (let k = 0; k < launches.length; k++) {
    if (launches.length > 1) $("launches").children[k].click();
    check(D === launches[k], "another launch is shown");
    await tour(k === 0);
  }
  $("data").remove(); /* it would only be printed again */
  root.dataset.test = "ok";
})().catch(e => { root.dataset.test = String(e); });
